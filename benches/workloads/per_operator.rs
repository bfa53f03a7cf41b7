//! Wall time that reports throughput as nanoseconds per element: per operator, node or byte.

use criterion::measurement::{Measurement, ValueFormatter, WallTime};
use criterion::{Criterion, Throughput};

/// Criterion over [`PerOperator`]; `unit` is what elements are reported in, such as `ns/op`.
pub fn criterion(unit: &'static str) -> Criterion<PerOperator> {
    Criterion::default().with_measurement(PerOperator(WallTime, Format(unit)))
}

/// Wall time, throughput inverted.
pub struct PerOperator(WallTime, Format);

impl Measurement for PerOperator {
    type Intermediate = <WallTime as Measurement>::Intermediate;
    type Value = <WallTime as Measurement>::Value;

    fn start(&self) -> Self::Intermediate {
        self.0.start()
    }

    fn end(&self, start: Self::Intermediate) -> Self::Value {
        self.0.end(start)
    }

    fn add(&self, a: &Self::Value, b: &Self::Value) -> Self::Value {
        self.0.add(a, b)
    }

    fn zero(&self) -> Self::Value {
        self.0.zero()
    }

    fn to_f64(&self, value: &Self::Value) -> f64 {
        self.0.to_f64(value)
    }

    fn formatter(&self) -> &dyn ValueFormatter {
        &self.1
    }
}

struct Format(&'static str);

impl ValueFormatter for Format {
    fn scale_values(&self, typical: f64, values: &mut [f64]) -> &'static str {
        WallTime.formatter().scale_values(typical, values)
    }

    fn scale_throughputs(&self, _: f64, throughput: &Throughput, values: &mut [f64]) -> &'static str {
        let (count, unit) = match throughput {
            Throughput::Elements(count) => (*count, self.0),
            Throughput::Bytes(count) => (*count, "ns/byte"),
            _ => (1, "ns"),
        };
        values.iter_mut().for_each(|v| *v /= count as f64);
        unit
    }

    fn scale_for_machines(&self, values: &mut [f64]) -> &'static str {
        WallTime.formatter().scale_for_machines(values)
    }
}
