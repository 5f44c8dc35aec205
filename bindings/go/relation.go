package gpujoin

// #include <stdlib.h>
// #include "shim.h"
import "C"

import (
	"context"
	"fmt"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/cdata"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// A Relation is a table as the library sees it: columns of equal length, which it does not copy.
type Relation struct {
	object  *object
	context *Context
	schema  *arrow.Schema
}

// NewRelation is a table of a record batch, sliced or not, without a copy. The batch is retained,
// and its memory pinned where it is Go's, until the relation and what was made from it are closed;
// until then it must not change. It does not wait.
//
// Columns of nested types may come out of joins by row number alone.
//
// Errors: StatusInvalidArgument, StatusTooManyRows, StatusOutOfMemory, StatusDeviceLost.
func (c *Context) NewRelation(batch arrow.RecordBatch) (relation *Relation, err error) {
	if batch == nil {
		return nil, invalid("batch is nil")
	}
	schema := (*cdata.CArrowSchema)(C.calloc(1, C.sizeof_struct_ArrowSchema))
	defer C.free(unsafe.Pointer(schema))
	exported := (*cdata.CArrowArray)(C.calloc(1, C.sizeof_struct_ArrowArray))
	defer C.free(unsafe.Pointer(exported))
	if err := export(batch, schema, exported); err != nil {
		return nil, err
	}
	// Both are moved in on success, and marked so.
	defer C.gpujoin_go_release_schema((*C.struct_ArrowSchema)(unsafe.Pointer(schema)))
	defer C.gpujoin_go_release_array((*C.struct_ArrowArray)(unsafe.Pointer(exported)))
	return c.relationOf(batch.Schema(), func(of C.handle, out *C.handle,
		failed *C.gpujoin_error) C.gpujoin_status {
		return C.gpujoin_go_relation_import(of, (*C.struct_ArrowSchema)(unsafe.Pointer(schema)),
			(*C.struct_ArrowArray)(unsafe.Pointer(exported)), out, failed)
	})
}

// export describes a batch in C. Errors: of types that arrow-go cannot describe, for which it
// panics.
func export(batch arrow.RecordBatch, schema *cdata.CArrowSchema, out *cdata.CArrowArray) (
	err error) {
	defer func() {
		if value := recover(); value != nil {
			err = fail(StatusType, "batch: %v", value)
		}
	}()
	cdata.ExportArrowSchema(batch.Schema(), schema)
	kept := pinnedBatch(batch)
	defer kept.Release()
	cdata.ExportArrowRecordBatch(kept, out, nil)
	return nil
}

func (c *Context) relationOf(schema *arrow.Schema,
	describe func(of C.handle, out *C.handle, failed *C.gpujoin_error) C.gpujoin_status) (
	*Relation, error) {
	if err := c.object.hold(); err != nil {
		return nil, err
	}
	defer c.object.letGo()
	var handle C.handle
	err := check(func(failed *C.gpujoin_error) C.gpujoin_status {
		return describe(C.handle(c.object.handle), &handle, failed)
	})
	if err != nil {
		return nil, err
	}
	return newRelation(c, schema, handle, func() {}, c.object), nil
}

func newRelation(c *Context, schema *arrow.Schema, handle C.handle, free func(),
	parents ...*object) *Relation {
	made := newObject("relation", uintptr(handle), func(handle uintptr) {
		C.gpujoin_go_relation_destroy(C.handle(handle))
		free()
	}, parents...)
	return closeWhenUnreachable(&Relation{made, c, schema}, made)
}

// NewRelationOfTable is a table of an Arrow table: columns in one chunk as they lie, others copied
// into one. Errors: those of NewRelation.
func (c *Context) NewRelationOfTable(table arrow.Table) (*Relation, error) {
	if table == nil {
		return nil, invalid("table is nil")
	}
	columns := make([]arrow.Array, table.NumCols())
	for i := range columns {
		column, err := inOneChunk(table.Column(i).Data())
		if err != nil {
			return nil, invalid("column %q of table: %v", table.Column(i).Name(), err)
		}
		defer column.Release()
		columns[i] = column
	}
	batch := array.NewRecordBatch(table.Schema(), columns, table.NumRows())
	defer batch.Release()
	return c.NewRelation(batch)
}

func inOneChunk(column *arrow.Chunked) (arrow.Array, error) {
	switch chunks := column.Chunks(); len(chunks) {
	case 0:
		return array.MakeArrayOfNull(memory.DefaultAllocator, column.DataType(), 0), nil
	case 1:
		chunks[0].Retain()
		return chunks[0], nil
	default:
		return array.Concatenate(chunks, memory.DefaultAllocator)
	}
}

// NewRelationOfDevice is a table of the Arrow C device data interface: on the CPU, or in CUDA,
// CUDA_HOST or CUDA_MANAGED memory. Both structures are moved in on success, and stay the
// caller's on failure; they lie in C memory. Work that reads the table waits for its sync_event.
//
// Errors: those of NewRelation; StatusUnsupported for another device type, or memory of another
// device than the context's; StatusCUDA.
func (c *Context) NewRelationOfDevice(schema *cdata.CArrowSchema,
	device *cdata.CArrowDeviceArray) (*Relation, error) {
	if schema == nil || device == nil {
		return nil, invalid("schema and device are required")
	}
	fields, err := schemaOf(schema)
	if err != nil {
		return nil, err
	}
	return c.relationOf(fields, func(of C.handle, out *C.handle,
		failed *C.gpujoin_error) C.gpujoin_status {
		return C.gpujoin_go_relation_import_device(of,
			(*C.struct_ArrowSchema)(unsafe.Pointer(schema)),
			(*C.struct_ArrowDeviceArray)(unsafe.Pointer(device)), out, failed)
	})
}

// schemaOf reads a schema and leaves it as it is: the one that arrow-go releases is a copy without
// a release of its own.
func schemaOf(schema *cdata.CArrowSchema) (*arrow.Schema, error) {
	var memory arena
	defer memory.free()
	fields, err := cdata.ImportCArrowSchema((*cdata.CArrowSchema)(unsafe.Pointer(
		borrowed(&memory, (*C.struct_ArrowSchema)(unsafe.Pointer(schema))))))
	if err != nil {
		return nil, invalid("schema: %v", err)
	}
	return fields, nil
}

func borrowed(memory *arena, of *C.struct_ArrowSchema) *C.struct_ArrowSchema {
	copied := one[C.struct_ArrowSchema](memory)
	*copied = *of
	C.gpujoin_go_release_nothing(copied)
	if of.n_children > 0 && of.children != nil {
		children := many[*C.struct_ArrowSchema](memory, int(of.n_children))
		for i, child := range unsafe.Slice(of.children, of.n_children) {
			children[i] = borrowed(memory, child)
		}
		copied.children = unsafe.SliceData(children)
	}
	if of.dictionary != nil {
		copied.dictionary = borrowed(memory, of.dictionary)
	}
	return copied
}

// Close lets go of the relation; plans, builds and operations that were made from it stay valid.
func (r *Relation) Close() { r.object.close() }

// Schema is that of the record batch.
func (r *Relation) Schema() *arrow.Schema { return r.schema }

// NumRows is the number of rows; of a selected relation of those that were picked. Of a relation
// that is closed it is 0.
func (r *Relation) NumRows() int64 {
	var rows C.int64_t
	// It has no error but that of a relation that is closed.
	_ = r.object.plainly(func(relation C.handle, failed *C.gpujoin_error) C.gpujoin_status {
		return C.gpujoin_go_relation_get_size(relation, &rows, failed)
	})
	return int64(rows)
}

// position is the place of a column by its name.
func position(schema *arrow.Schema, argument, name string) (C.int32_t, error) {
	found := schema.FieldIndices(name)
	if len(found) == 1 {
		return C.int32_t(found[0]), nil
	}
	if len(found) > 1 {
		return 0, invalid("%s: %d columns are named %q", argument, len(found), name)
	}
	names := make([]string, schema.NumFields())
	for i, field := range schema.Fields() {
		names[i] = field.Name
	}
	return 0, invalid("%s: there is no column %q among %q", argument, name, names)
}

func positions(schema *arrow.Schema, argument string, names []string) ([]C.int32_t, error) {
	found := make([]C.int32_t, len(names))
	for i, name := range names {
		var err error
		if found[i], err = position(schema, fmt.Sprintf("%s[%d]", argument, i), name); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// checkRelation: it is given, and of this context.
func (c *Context) checkRelation(argument string, relation *Relation) error {
	if relation == nil {
		return invalid("%s is nil", argument)
	}
	if relation.context != c {
		return invalid("%s is of another context", argument)
	}
	return nil
}

// ofBatch uses a relation of a batch, and closes it.
func (c *Context) ofBatch(ctx context.Context, batch arrow.RecordBatch,
	use func(*Relation) error) error {
	if err := endedBefore(ctx); err != nil {
		return err
	}
	relation, err := c.NewRelation(batch)
	if err != nil {
		return err
	}
	defer relation.Close()
	return use(relation)
}

// holding makes a call that reads a relation, of the same context.
func (c *Context) holding(argument string, relation *Relation, call func() error) error {
	if err := c.checkRelation(argument, relation); err != nil {
		return err
	}
	if err := relation.object.hold(); err != nil {
		return err
	}
	defer relation.object.letGo()
	return call()
}
