//! `window_budget(messages, format, summary, options)` as a function of SQL.

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, StructArray};
use arrow_schema::{DataType, Field, Fields, Schema};
use datafusion::common::{DataFusionError, exec_datafusion_err};
use datafusion::error::Result;
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use wb_arrow::{Options, analyze, schema};

/// The name of the function.
pub const FUNCTION: &str = "window_budget";

/// The function. Its result is a struct with the columns of `docs/reference/arrow.md` but `id`.
#[derive(Debug, PartialEq, Eq, Hash)]
struct WindowBudget {
    signature: Signature,
}

/// Returns the function for a session of DataFusion.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> datafusion::error::Result<()> {
/// use datafusion::prelude::SessionContext;
///
/// let context = SessionContext::new();
/// context.register_udf(wb_fleet::function());
/// let messages = r#"'[{"role": "user", "content": "Hello."}]'"#;
/// let sql = format!("SELECT get_field(window_budget({messages}), 'tokens') AS tokens");
/// assert_eq!(context.sql(&sql).await?.count().await?, 1);
/// # Ok(())
/// # }
/// ```
pub fn function() -> ScalarUDF {
    ScalarUDF::new_from_impl(WindowBudget { signature: Signature::variadic_any(Volatility::Immutable) })
}

impl ScalarUDFImpl for WindowBudget {
    fn name(&self) -> &str {
        FUNCTION
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Struct(fields_without_id()))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let options = options(args.args.get(3))?;
        let names = [&options.columns.messages, &options.columns.format, &options.columns.summary];
        let arrays: Vec<ArrayRef> =
            args.args.iter().take(3).map(|arg| arg.to_array(args.number_rows)).collect::<Result<_>>()?;
        let fields: Vec<Field> = names
            .into_iter()
            .zip(&arrays)
            .map(|(name, array)| Field::new(name, array.data_type().clone(), true))
            .collect();
        let batch = RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays)?;
        let answer = analyze(&batch, &options).map_err(|error| DataFusionError::External(error.into()))?;
        let columns = answer.columns()[1..].to_vec();
        Ok(ColumnarValue::Array(Arc::new(StructArray::try_new(fields_without_id(), columns, None)?)))
    }
}

/// Returns the columns of an answer; the row has the id already.
fn fields_without_id() -> Fields {
    schema().fields().iter().skip(1).cloned().collect()
}

fn options(arg: Option<&ColumnarValue>) -> Result<Options> {
    let text = match arg {
        None => return Ok(Options::default()),
        Some(ColumnarValue::Scalar(value)) => value.try_as_str().flatten().unwrap_or_default(),
        Some(ColumnarValue::Array(_)) => {
            return Err(exec_datafusion_err!("the options of {FUNCTION} are one text for all rows"));
        }
    };
    Options::parse(text).map_err(|error| exec_datafusion_err!("the options of {FUNCTION}: {error}"))
}
