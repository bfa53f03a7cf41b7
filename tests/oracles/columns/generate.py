"""Files compressed by zstd, which Cembra does not read: `pip install pyarrow`, then run this here.

`zstd.parquet` has the columns `x`, by zstd, and `y`, by snappy; `zstd.arrow` has both by zstd.
"""

import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet

table = pa.table({"x": [1.5, 2.5, 3.5], "y": [10, 20, 30]})
codecs = {"x": "zstd", "y": "snappy"}
pa.parquet.write_table(table, "zstd.parquet", compression=codecs, store_schema=False, write_statistics=False)
pa.feather.write_feather(table, "zstd.arrow", compression="zstd")
