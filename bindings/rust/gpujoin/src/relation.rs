//! Tables that joins take.

use std::any::Any;
use std::ffi::CStr;
use std::fmt;
use std::sync::Arc;

use gpujoin_sys as sys;

use crate::arrow::Batch;
use crate::context::Context;
use crate::error::{Error, Result, check, count};
use crate::handle::Handle;

/// Columns of equal length, which joins read where they lie. Clones are the same relation.
///
/// It holds the record batch that it was made of (its buffers are shared, not copied), and is held
/// by the plans made from it, so that nothing that is in use can go away.
///
/// ```
/// use std::sync::Arc;
/// use arrow_array::{ArrayRef, Int32Array, RecordBatch};
/// use gpujoin::{Context, Relation};
///
/// let numbers: ArrayRef = Arc::new(Int32Array::from(vec![7, 8, 9]));
/// let batch = RecordBatch::try_from_iter([("number", numbers)])?;
/// let context = Context::new()?;
/// let relation = Relation::from_batch(&context, &batch)?;
/// assert_eq!(relation.rows(), 3);
/// assert_eq!(relation.select_rows([2, 0])?.rows(), 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Relation(Arc<Inner>);

struct Inner {
    handle: Handle<sys::gpujoin_relation>,
    rows: usize,
    names: Arc<[String]>,
    on_device: bool,
    context: Context,
    // What the relation reads, unless the library holds it.
    _memory: Option<Box<dyn Any + Send + Sync>>,
}

/// A column, by its name, which must be the name of one column alone, or by its position from 0:
/// `"price"`, `2usize`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Column {
    /// Position among the relation's columns.
    Position(usize),
    /// Name among the relation's columns.
    Name(String),
}

impl From<usize> for Column {
    fn from(position: usize) -> Self {
        Self::Position(position)
    }
}

impl From<&str> for Column {
    fn from(name: &str) -> Self {
        Self::Name(name.into())
    }
}

impl From<&String> for Column {
    fn from(name: &String) -> Self {
        Self::Name(name.clone())
    }
}

impl From<String> for Column {
    fn from(name: String) -> Self {
        Self::Name(name)
    }
}

impl Column {
    /// Its position; `what` names the argument.
    pub(crate) fn position(&self, what: &str, names: &[String]) -> Result<i32> {
        match self {
            // The library checks that there is such a column.
            Self::Position(position) => count(what, *position as u64),
            Self::Name(name) => {
                let mut found = (0..).zip(names).filter(|(_, other)| *other == name);
                match (found.next(), found.next()) {
                    (Some((position, _)), None) => Ok(position),
                    (None, _) => Err(Error::InvalidArgument(format!(
                        "{what}: there is no column \"{name}\""
                    ))),
                    _ => Err(Error::InvalidArgument(format!(
                        "{what}: several columns are called \"{name}\""
                    ))),
                }
            }
        }
    }
}

/// Positions of columns.
pub(crate) fn positions(what: &str, columns: &[Column], names: &[String]) -> Result<Vec<i32>> {
    columns.iter().map(|column| column.position(what, names)).collect()
}

impl Relation {
    /// A table of a record batch of any of the arrow versions that are on. Nothing is copied.
    ///
    /// # Errors
    ///
    /// [`Error::TooManyRows`] for 2^32 - 1 rows or more, [`Error::OutOfMemory`],
    /// [`Error::DeviceLost`], [`Error::Forked`].
    pub fn from_batch<B: Batch>(context: &Context, batch: &B) -> Result<Self> {
        let mut schema = sys::ArrowSchema::INIT;
        let mut array = sys::ArrowArray::INIT;
        batch.export(&mut schema, &mut array)?;
        // SAFETY: export wrote a valid schema and array of this batch.
        let imported = unsafe { Self::import(context, &mut schema, &mut array) };
        if imported.is_err() {
            // SAFETY: on failure both are still ours, and are released once.
            unsafe { release(&mut schema, &mut array) };
        }
        imported
    }

    /// A table of the Arrow C data interface, in host memory: a struct array. On success both are
    /// moved in; on failure they stay the caller's.
    ///
    /// # Safety
    ///
    /// Both are valid as the interface has it, their release functions may be called from any
    /// thread, and the memory does not change as long as it is not released.
    pub unsafe fn import(
        context: &Context,
        schema: &mut sys::ArrowSchema,
        array: &mut sys::ArrowArray,
    ) -> Result<Self> {
        // SAFETY: the caller says that the schema is valid.
        let names = unsafe { names_of(schema) };
        let handle = Handle::made(|out, error| {
            // SAFETY: context and structs are there.
            unsafe { sys::gpujoin_relation_import(context.handle(), schema, array, out, error) }
        })?;
        Self::of(handle, names, false, context, None)
    }

    /// The same of the Arrow C device data interface: host or CUDA memory. Streams that read it
    /// wait for its event.
    ///
    /// # Safety
    ///
    /// As that of [`Relation::import`].
    pub unsafe fn import_device(
        context: &Context,
        schema: &mut sys::ArrowSchema,
        array: &mut sys::ArrowDeviceArray,
    ) -> Result<Self> {
        // SAFETY: the caller says that the schema is valid.
        let names = unsafe { names_of(schema) };
        let on_device = array.device_type != sys::ARROW_DEVICE_CPU;
        let handle = Handle::made(|out, error| {
            // SAFETY: context and structs are there.
            unsafe {
                sys::gpujoin_relation_import_device(context.handle(), schema, array, out, error)
            }
        })?;
        Self::of(handle, names, on_device, context, None)
    }

    /// A relation of plain columns in `memory`, which it keeps.
    ///
    /// # Safety
    ///
    /// What the columns point to belongs to `memory`, and does not move when that does.
    pub(crate) unsafe fn of_columns(
        context: &Context,
        rows: i64,
        columns: &[sys::gpujoin_column],
        memory: Box<dyn Any + Send + Sync>,
    ) -> Result<Self> {
        let columns_there = count("columns", columns.len() as u64)?;
        let handle = Handle::made(|out, error| {
            // SAFETY: the columns are there, and what they point to as the caller says.
            unsafe {
                let (context, columns) = (context.handle(), columns.as_ptr());
                sys::gpujoin_relation_create(context, rows, columns, columns_there, out, error)
            }
        })?;
        Self::of(handle, Arc::new([]), false, context, Some(memory))
    }

    fn of(
        handle: Handle<sys::gpujoin_relation>,
        names: Arc<[String]>,
        on_device: bool,
        context: &Context,
        memory: Option<Box<dyn Any + Send + Sync>>,
    ) -> Result<Self> {
        let mut rows = 0;
        // SAFETY: the handle is there; columns may be NULL.
        check(|error| unsafe {
            let no_columns = std::ptr::null_mut();
            sys::gpujoin_relation_get_size(handle.get(), &mut rows, no_columns, error)
        })?;
        let rows = rows as usize;
        let context = context.clone();
        Ok(Self(Arc::new(Inner { handle, rows, names, on_device, context, _memory: memory })))
    }

    /// A relation of the rows of those numbers, in any order; each time that one comes it is a row.
    /// Nothing is copied. Row numbers that joins put out are those of the whole relation.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`] for a row that is not there; the message names the first.
    pub fn select_rows(&self, rows: impl Into<Vec<u32>>) -> Result<Self> {
        let rows: Vec<u32> = rows.into();
        let selection = sys::gpujoin_selection {
            form: sys::GPUJOIN_SELECTION_ROWS,
            data: rows.as_ptr().cast(),
            count: count("rows", rows.len() as u64)?,
            r#type: sys::GPUJOIN_TYPE_UINT32,
            memory: sys::GPUJOIN_MEMORY_HOST,
            ..sys::gpujoin_selection::INIT
        };
        self.select(&selection, Box::new(rows))
    }

    /// A relation of the rows whose bit is 1, least significant first: row 0 has bit 0 of byte 0.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`] where there are fewer bits than rows.
    pub fn select_bits(&self, bits: impl Into<Vec<u8>>) -> Result<Self> {
        let bits: Vec<u8> = bits.into();
        let needed = self.rows().div_ceil(8);
        if bits.len() < needed {
            let found = bits.len();
            return Err(Error::InvalidArgument(format!(
                "bits: {found} bytes for {} rows, which need {needed}",
                self.rows()
            )));
        }
        let selection = sys::gpujoin_selection {
            form: sys::GPUJOIN_SELECTION_BITMAP,
            data: bits.as_ptr().cast(),
            memory: sys::GPUJOIN_MEMORY_HOST,
            ..sys::gpujoin_selection::INIT
        };
        self.select(&selection, Box::new(bits))
    }

    /// The new relation keeps this one, whose columns it reads, and the memory of the selection.
    fn select(
        &self,
        selection: &sys::gpujoin_selection,
        memory: Box<dyn Any + Send + Sync>,
    ) -> Result<Self> {
        let handle = Handle::made(|out, error| {
            // SAFETY: the relation is there; the selection's memory is kept, and does not move with
            // its owner.
            unsafe { sys::gpujoin_relation_select(self.handle(), selection, out, error) }
        })?;
        let names = self.0.names.clone();
        let memory = Box::new((self.clone(), memory));
        Self::of(handle, names, self.0.on_device, self.context(), Some(memory))
    }

    /// How many rows it has: of a selection those that were picked.
    pub fn rows(&self) -> usize {
        self.0.rows
    }

    /// Names of its columns.
    pub fn names(&self) -> &[String] {
        &self.0.names
    }

    /// The context that it was made in.
    pub fn context(&self) -> &Context {
        &self.0.context
    }

    pub(crate) fn handle(&self) -> *mut sys::gpujoin_relation {
        self.0.handle.get()
    }

    /// Joins on a GPU may read batches where they lie, until their results were taken: section 10
    /// of the header says which.
    pub(crate) fn may_be_read_in_place(&self) -> bool {
        self.0.context.is_cuda() && (self.0.on_device || self.0.rows >= 1 << 20)
    }
}

impl fmt::Debug for Relation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = formatter.debug_struct("Relation");
        debug.field("rows", &self.0.rows).field("names", &self.0.names).finish_non_exhaustive()
    }
}

/// # Safety
///
/// A valid schema of a struct, or one that was released.
unsafe fn names_of(schema: &sys::ArrowSchema) -> Arc<[String]> {
    if schema.release.is_none() || schema.children.is_null() {
        return Arc::new([]);
    }
    (0..usize::try_from(schema.n_children).unwrap_or(0))
        .map(|child| {
            // SAFETY: there are n_children valid schemas; a name is terminated or NULL.
            unsafe {
                let child = *schema.children.add(child);
                let is_named = !child.is_null() && !(*child).name.is_null();
                let name = if is_named { CStr::from_ptr((*child).name) } else { c"" };
                name.to_string_lossy().into_owned()
            }
        })
        .collect()
}

/// # Safety
///
/// Both are valid or released, and the caller's.
unsafe fn release(schema: &mut sys::ArrowSchema, array: &mut sys::ArrowArray) {
    // SAFETY: the interface's release functions take their own struct.
    unsafe {
        if let Some(release) = schema.release {
            release(schema);
        }
        if let Some(release) = array.release {
            release(array);
        }
    }
}
