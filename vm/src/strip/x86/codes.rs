//! The instructions of each operation, by the form of its operands.
//!
//! A table without a word of logic: `INVALID` stands where a form has no such instruction, and lowering builds the
//! operation of others.

use iced_x86::Code::{self, *};

/// The width of lanes, of registers, and the encoding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Lanes of 64 bits in a ymm, AVX2.
    Vex64,
    /// Lanes of 64 bits in a zmm.
    Zmm64,
    /// Lanes of 32 bits in a ymm, AVX2.
    Vex32,
    /// Lanes of 32 bits in a ymm, AVX-512.
    Ymm32,
    /// Lanes of 32 bits in a zmm.
    Zmm32,
}

/// An instruction for each form.
pub type Codes = [Code; 5];

/// The instruction for a form.
pub fn code(codes: &Codes, form: Form) -> Code {
    let code = codes[form as usize];
    assert!(code != INVALID, "{form:?} has no such instruction");
    code
}

/// The sum of floats.
pub static ADD_FLOAT: Codes = [
    VEX_Vaddpd_ymm_ymm_ymmm256,
    EVEX_Vaddpd_zmm_k1z_zmm_zmmm512b64_er,
    VEX_Vaddps_ymm_ymm_ymmm256,
    EVEX_Vaddps_ymm_k1z_ymm_ymmm256b32,
    EVEX_Vaddps_zmm_k1z_zmm_zmmm512b32_er,
];

/// The difference of floats.
pub static SUB_FLOAT: Codes = [
    VEX_Vsubpd_ymm_ymm_ymmm256,
    EVEX_Vsubpd_zmm_k1z_zmm_zmmm512b64_er,
    VEX_Vsubps_ymm_ymm_ymmm256,
    EVEX_Vsubps_ymm_k1z_ymm_ymmm256b32,
    EVEX_Vsubps_zmm_k1z_zmm_zmmm512b32_er,
];

/// The product of floats.
pub static MUL_FLOAT: Codes = [
    VEX_Vmulpd_ymm_ymm_ymmm256,
    EVEX_Vmulpd_zmm_k1z_zmm_zmmm512b64_er,
    VEX_Vmulps_ymm_ymm_ymmm256,
    EVEX_Vmulps_ymm_k1z_ymm_ymmm256b32,
    EVEX_Vmulps_zmm_k1z_zmm_zmmm512b32_er,
];

/// The quotient of floats.
pub static DIV_FLOAT: Codes = [
    VEX_Vdivpd_ymm_ymm_ymmm256,
    EVEX_Vdivpd_zmm_k1z_zmm_zmmm512b64_er,
    VEX_Vdivps_ymm_ymm_ymmm256,
    EVEX_Vdivps_ymm_k1z_ymm_ymmm256b32,
    EVEX_Vdivps_zmm_k1z_zmm_zmmm512b32_er,
];

/// `a < b ? a : b` of floats.
pub static MIN_FLOAT: Codes = [
    VEX_Vminpd_ymm_ymm_ymmm256,
    EVEX_Vminpd_zmm_k1z_zmm_zmmm512b64_sae,
    VEX_Vminps_ymm_ymm_ymmm256,
    EVEX_Vminps_ymm_k1z_ymm_ymmm256b32,
    EVEX_Vminps_zmm_k1z_zmm_zmmm512b32_sae,
];

/// `a > b ? a : b` of floats.
pub static MAX_FLOAT: Codes = [
    VEX_Vmaxpd_ymm_ymm_ymmm256,
    EVEX_Vmaxpd_zmm_k1z_zmm_zmmm512b64_sae,
    VEX_Vmaxps_ymm_ymm_ymmm256,
    EVEX_Vmaxps_ymm_k1z_ymm_ymmm256b32,
    EVEX_Vmaxps_zmm_k1z_zmm_zmmm512b32_sae,
];

/// The square root.
pub static SQRT: Codes = [
    VEX_Vsqrtpd_ymm_ymmm256,
    EVEX_Vsqrtpd_zmm_k1z_zmmm512b64_er,
    VEX_Vsqrtps_ymm_ymmm256,
    EVEX_Vsqrtps_ymm_k1z_ymmm256b32,
    EVEX_Vsqrtps_zmm_k1z_zmmm512b32_er,
];

/// Rounding to an integer; the number says how.
pub static ROUND: Codes = [
    VEX_Vroundpd_ymm_ymmm256_imm8,
    EVEX_Vrndscalepd_zmm_k1z_zmmm512b64_imm8_sae,
    VEX_Vroundps_ymm_ymmm256_imm8,
    EVEX_Vrndscaleps_ymm_k1z_ymmm256b32_imm8,
    EVEX_Vrndscaleps_zmm_k1z_zmmm512b32_imm8_sae,
];

/// `b * a + c`, to the place of the first.
pub static FMA_213: Codes = [
    VEX_Vfmadd213pd_ymm_ymm_ymmm256,
    EVEX_Vfmadd213pd_zmm_k1z_zmm_zmmm512b64_er,
    VEX_Vfmadd213ps_ymm_ymm_ymmm256,
    EVEX_Vfmadd213ps_ymm_k1z_ymm_ymmm256b32,
    EVEX_Vfmadd213ps_zmm_k1z_zmm_zmmm512b32_er,
];

/// `b * c + a`, to the place of the first.
static FMA_231: Codes = [
    VEX_Vfmadd231pd_ymm_ymm_ymmm256,
    EVEX_Vfmadd231pd_zmm_k1z_zmm_zmmm512b64_er,
    VEX_Vfmadd231ps_ymm_ymm_ymmm256,
    EVEX_Vfmadd231ps_ymm_k1z_ymm_ymmm256b32,
    EVEX_Vfmadd231ps_zmm_k1z_zmm_zmmm512b32_er,
];

/// `b * a - c`, to the place of the first.
static FMS_213: Codes = [
    VEX_Vfmsub213pd_ymm_ymm_ymmm256,
    EVEX_Vfmsub213pd_zmm_k1z_zmm_zmmm512b64_er,
    VEX_Vfmsub213ps_ymm_ymm_ymmm256,
    EVEX_Vfmsub213ps_ymm_k1z_ymm_ymmm256b32,
    EVEX_Vfmsub213ps_zmm_k1z_zmm_zmmm512b32_er,
];

/// `b * c - a`, to the place of the first.
static FMS_231: Codes = [
    VEX_Vfmsub231pd_ymm_ymm_ymmm256,
    EVEX_Vfmsub231pd_zmm_k1z_zmm_zmmm512b64_er,
    VEX_Vfmsub231ps_ymm_ymm_ymmm256,
    EVEX_Vfmsub231ps_ymm_k1z_ymm_ymmm256b32,
    EVEX_Vfmsub231ps_zmm_k1z_zmm_zmmm512b32_er,
];

/// `-(b * a) + c`, to the place of the first.
static FNMA_213: Codes = [
    VEX_Vfnmadd213pd_ymm_ymm_ymmm256,
    EVEX_Vfnmadd213pd_zmm_k1z_zmm_zmmm512b64_er,
    VEX_Vfnmadd213ps_ymm_ymm_ymmm256,
    EVEX_Vfnmadd213ps_ymm_k1z_ymm_ymmm256b32,
    EVEX_Vfnmadd213ps_zmm_k1z_zmm_zmmm512b32_er,
];

/// `-(b * c) + a`, to the place of the first.
static FNMA_231: Codes = [
    VEX_Vfnmadd231pd_ymm_ymm_ymmm256,
    EVEX_Vfnmadd231pd_zmm_k1z_zmm_zmmm512b64_er,
    VEX_Vfnmadd231ps_ymm_ymm_ymmm256,
    EVEX_Vfnmadd231ps_ymm_k1z_ymm_ymmm256b32,
    EVEX_Vfnmadd231ps_zmm_k1z_zmm_zmmm512b32_er,
];

/// `-(b * a) - c`, to the place of the first.
static FNMS_213: Codes = [
    VEX_Vfnmsub213pd_ymm_ymm_ymmm256,
    EVEX_Vfnmsub213pd_zmm_k1z_zmm_zmmm512b64_er,
    VEX_Vfnmsub213ps_ymm_ymm_ymmm256,
    EVEX_Vfnmsub213ps_ymm_k1z_ymm_ymmm256b32,
    EVEX_Vfnmsub213ps_zmm_k1z_zmm_zmmm512b32_er,
];

/// `-(b * c) - a`, to the place of the first.
static FNMS_231: Codes = [
    VEX_Vfnmsub231pd_ymm_ymm_ymmm256,
    EVEX_Vfnmsub231pd_zmm_k1z_zmm_zmmm512b64_er,
    VEX_Vfnmsub231ps_ymm_ymm_ymmm256,
    EVEX_Vfnmsub231ps_ymm_k1z_ymm_ymmm256b32,
    EVEX_Vfnmsub231ps_zmm_k1z_zmm_zmmm512b32_er,
];

/// By whether the opposite of the product is taken, then of the addend: an instruction for each place of the addend.
pub static FUSED: [[[&Codes; 2]; 2]; 2] =
    [[[&FMA_213, &FMA_231], [&FMS_213, &FMS_231]], [[&FNMA_213, &FNMA_231], [&FNMS_213, &FNMS_231]]];

/// Bits set in both.
pub static AND: Codes = [
    VEX_Vandpd_ymm_ymm_ymmm256,
    EVEX_Vandpd_zmm_k1z_zmm_zmmm512b64,
    VEX_Vandps_ymm_ymm_ymmm256,
    EVEX_Vandps_ymm_k1z_ymm_ymmm256b32,
    EVEX_Vandps_zmm_k1z_zmm_zmmm512b32,
];

/// Bits of the second that are not set in the first.
pub static AND_NOT: Codes = [
    VEX_Vandnpd_ymm_ymm_ymmm256,
    EVEX_Vandnpd_zmm_k1z_zmm_zmmm512b64,
    VEX_Vandnps_ymm_ymm_ymmm256,
    EVEX_Vandnps_ymm_k1z_ymm_ymmm256b32,
    EVEX_Vandnps_zmm_k1z_zmm_zmmm512b32,
];

/// Bits set in one or both.
pub static OR: Codes = [
    VEX_Vorpd_ymm_ymm_ymmm256,
    EVEX_Vorpd_zmm_k1z_zmm_zmmm512b64,
    VEX_Vorps_ymm_ymm_ymmm256,
    EVEX_Vorps_ymm_k1z_ymm_ymmm256b32,
    EVEX_Vorps_zmm_k1z_zmm_zmmm512b32,
];

/// Bits set in exactly one.
pub static XOR: Codes = [
    VEX_Vxorpd_ymm_ymm_ymmm256,
    EVEX_Vxorpd_zmm_k1z_zmm_zmmm512b64,
    VEX_Vxorps_ymm_ymm_ymmm256,
    EVEX_Vxorps_ymm_k1z_ymm_ymmm256b32,
    EVEX_Vxorps_zmm_k1z_zmm_zmmm512b32,
];

/// The sum of integers.
pub static ADD_INT: Codes = [
    VEX_Vpaddq_ymm_ymm_ymmm256,
    EVEX_Vpaddq_zmm_k1z_zmm_zmmm512b64,
    VEX_Vpaddd_ymm_ymm_ymmm256,
    EVEX_Vpaddd_ymm_k1z_ymm_ymmm256b32,
    EVEX_Vpaddd_zmm_k1z_zmm_zmmm512b32,
];

/// The difference of integers.
pub static SUB_INT: Codes = [
    VEX_Vpsubq_ymm_ymm_ymmm256,
    EVEX_Vpsubq_zmm_k1z_zmm_zmmm512b64,
    VEX_Vpsubd_ymm_ymm_ymmm256,
    EVEX_Vpsubd_ymm_k1z_ymm_ymmm256b32,
    EVEX_Vpsubd_zmm_k1z_zmm_zmmm512b32,
];

/// The lower half of the product of integers; AVX2 has none of 64 bits.
pub static MUL_INT: Codes = [
    INVALID,
    EVEX_Vpmullq_zmm_k1z_zmm_zmmm512b64,
    VEX_Vpmulld_ymm_ymm_ymmm256,
    EVEX_Vpmulld_ymm_k1z_ymm_ymmm256b32,
    EVEX_Vpmulld_zmm_k1z_zmm_zmmm512b32,
];

/// The product of the lower halves of 64 bits, as numbers without a sign.
pub static MUL_LOW: Codes =
    [VEX_Vpmuludq_ymm_ymm_ymmm256, EVEX_Vpmuludq_zmm_k1z_zmm_zmmm512b64, INVALID, INVALID, INVALID];

/// The smaller integer; AVX2 has none of 64 bits.
pub static MIN_INT: Codes = [
    INVALID,
    EVEX_Vpminsq_zmm_k1z_zmm_zmmm512b64,
    VEX_Vpminsd_ymm_ymm_ymmm256,
    EVEX_Vpminsd_ymm_k1z_ymm_ymmm256b32,
    EVEX_Vpminsd_zmm_k1z_zmm_zmmm512b32,
];

/// The larger integer; AVX2 has none of 64 bits.
pub static MAX_INT: Codes = [
    INVALID,
    EVEX_Vpmaxsq_zmm_k1z_zmm_zmmm512b64,
    VEX_Vpmaxsd_ymm_ymm_ymmm256,
    EVEX_Vpmaxsd_ymm_k1z_ymm_ymmm256b32,
    EVEX_Vpmaxsd_zmm_k1z_zmm_zmmm512b32,
];

/// The absolute value of integers; AVX2 has none of 64 bits.
pub static ABS_INT: Codes = [
    INVALID,
    EVEX_Vpabsq_zmm_k1z_zmmm512b64,
    VEX_Vpabsd_ymm_ymmm256,
    EVEX_Vpabsd_ymm_k1z_ymmm256b32,
    EVEX_Vpabsd_zmm_k1z_zmmm512b32,
];

/// Lanes of the second where the mask is set, else of the first.
pub static BLEND: Codes = [
    INVALID,
    EVEX_Vblendmpd_zmm_k1z_zmm_zmmm512b64,
    INVALID,
    EVEX_Vblendmps_ymm_k1z_ymm_ymmm256b32,
    EVEX_Vblendmps_zmm_k1z_zmm_zmmm512b32,
];

/// A comparison of floats; the number says which.
pub static COMPARE_FLOAT: Codes = [
    VEX_Vcmppd_ymm_ymm_ymmm256_imm8,
    EVEX_Vcmppd_kr_k1_zmm_zmmm512b64_imm8_sae,
    VEX_Vcmpps_ymm_ymm_ymmm256_imm8,
    EVEX_Vcmpps_kr_k1_ymm_ymmm256b32_imm8,
    EVEX_Vcmpps_kr_k1_zmm_zmmm512b32_imm8_sae,
];

/// A comparison of integers to a mask register; the number says which.
pub static COMPARE_INT: Codes = [
    INVALID,
    EVEX_Vpcmpq_kr_k1_zmm_zmmm512b64_imm8,
    INVALID,
    EVEX_Vpcmpd_kr_k1_ymm_ymmm256b32_imm8,
    EVEX_Vpcmpd_kr_k1_zmm_zmmm512b32_imm8,
];

/// Lanes in which a bit is set in both, to a mask register.
pub static TEST: Codes = [
    INVALID,
    EVEX_Vptestmq_kr_k1_zmm_zmmm512b64,
    INVALID,
    EVEX_Vptestmd_kr_k1_ymm_ymmm256b32,
    EVEX_Vptestmd_kr_k1_zmm_zmmm512b32,
];

/// Lanes of ones where integers are equal, of AVX2.
pub static EQUAL_INT: Codes =
    [VEX_Vpcmpeqq_ymm_ymm_ymmm256, INVALID, VEX_Vpcmpeqd_ymm_ymm_ymmm256, INVALID, INVALID];

/// Lanes of ones where the first integer is greater, of AVX2.
pub static GREATER_INT: Codes =
    [VEX_Vpcmpgtq_ymm_ymm_ymmm256, INVALID, VEX_Vpcmpgtd_ymm_ymm_ymmm256, INVALID, INVALID];

/// Lanes of the second where the sign of the third is set, else of the first, of AVX2.
pub static BLEND_LANES: Codes =
    [VEX_Vblendvpd_ymm_ymm_ymmm256_ymm, INVALID, VEX_Vblendvps_ymm_ymm_ymmm256_ymm, INVALID, INVALID];

/// A shift to the left.
pub static SHIFT_LEFT: Codes = [
    VEX_Vpsllq_ymm_ymm_imm8,
    EVEX_Vpsllq_zmm_k1z_zmmm512b64_imm8,
    VEX_Vpslld_ymm_ymm_imm8,
    EVEX_Vpslld_ymm_k1z_ymmm256b32_imm8,
    EVEX_Vpslld_zmm_k1z_zmmm512b32_imm8,
];

/// A shift to the right.
pub static SHIFT_RIGHT: Codes = [
    VEX_Vpsrlq_ymm_ymm_imm8,
    EVEX_Vpsrlq_zmm_k1z_zmmm512b64_imm8,
    VEX_Vpsrld_ymm_ymm_imm8,
    EVEX_Vpsrld_ymm_k1z_ymmm256b32_imm8,
    EVEX_Vpsrld_zmm_k1z_zmmm512b32_imm8,
];

/// A shift to the right that keeps the sign; AVX2 has none of 64 bits.
pub static SHIFT_SIGNED: Codes = [
    INVALID,
    EVEX_Vpsraq_zmm_k1z_zmmm512b64_imm8,
    VEX_Vpsrad_ymm_ymm_imm8,
    EVEX_Vpsrad_ymm_k1z_ymmm256b32_imm8,
    EVEX_Vpsrad_zmm_k1z_zmmm512b32_imm8,
];

/// Lanes of memory to a register.
pub static LOAD: Codes = [
    VEX_Vmovups_ymm_ymmm256,
    EVEX_Vmovupd_zmm_k1z_zmmm512,
    VEX_Vmovups_ymm_ymmm256,
    EVEX_Vmovups_ymm_k1z_ymmm256,
    EVEX_Vmovups_zmm_k1z_zmmm512,
];

/// Lanes of a register to memory.
pub static STORE: Codes = [
    VEX_Vmovups_ymmm256_ymm,
    EVEX_Vmovupd_zmmm512_k1z_zmm,
    VEX_Vmovups_ymmm256_ymm,
    EVEX_Vmovups_ymmm256_k1z_ymm,
    EVEX_Vmovups_zmmm512_k1z_zmm,
];

/// One lane of memory to all lanes of a register.
pub static BROADCAST: Codes = [
    VEX_Vbroadcastsd_ymm_m64,
    EVEX_Vbroadcastsd_zmm_k1z_xmmm64,
    VEX_Vbroadcastss_ymm_m32,
    EVEX_Vbroadcastss_ymm_k1z_xmmm32,
    EVEX_Vbroadcastss_zmm_k1z_xmmm32,
];
