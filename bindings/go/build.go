package gpujoin

// #include "shim.h"
import "C"

import (
	"context"
	"slices"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// BuildOptions are how a build keeps its rows. nil = all automatic.
type BuildOptions struct {
	// Device that its joins run on; automatic = the context's.
	Device Device
	// RowNumbers: rows have numbers, which Append is given, and joins may put out.
	RowNumbers bool
	// NullEqual and IEEEFloat have a value for each key, or are nil: those of the joins to come.
	NullEqual, IEEEFloat []bool
	// Timeout of each call; 0 = as long as it takes.
	Timeout time.Duration
}

// A Build is a side of joins whose rows come in batches; any number of operations share it.
type Build struct {
	object  *object
	context *Context
	schema  *arrow.Schema
	keys    []string
	options BuildOptions
}

// BuildInfo is what a build has so far. Sizes are in bytes.
type BuildInfo struct {
	Finished bool
	Rows     int64
	// Bytes that the rows take, in memory and in files; SpilledBytes those in files.
	Bytes, SpilledBytes uint64
	// Whole: of a finished build that it fits, and rows of probes are joined as they come; else it
	// is joined in that many Partitions.
	Whole      bool
	Partitions int
}

// NewBuild is a side of joins whose batches have that schema, with those key columns: none of
// joins without keys. Columns of nested types are not kept.
//
// Errors: StatusInvalidArgument, StatusType, StatusUnsupported, StatusNoDevice, StatusMemoryLimit
// (a limit below the least, which the message says).
func (c *Context) NewBuild(schema *arrow.Schema, keys []string, options *BuildOptions) (
	*Build, error) {
	if options == nil {
		options = &BuildOptions{}
	}
	like, err := c.relationLike(schema)
	if err != nil {
		return nil, err
	}
	defer like.Close()
	if err := holdAll(c.object, like.object); err != nil {
		return nil, err
	}
	defer letGoAll([]*object{c.object, like.object})
	var memory arena
	defer memory.free()
	columns, err := positions(schema, "keys", keys)
	if err != nil {
		return nil, err
	}
	flags, err := flagsOf(options, len(keys))
	if err != nil {
		return nil, err
	}
	raw := sized[C.gpujoin_build_options](&memory)
	raw.device = C.gpujoin_device(options.Device)
	raw.has_row_numbers = C.int32_t(flag(options.RowNumbers))
	if raw.timeout_milliseconds, err = timeoutOf(options.Timeout); err != nil {
		return nil, err
	}
	var handle C.handle
	err = check(func(failed *C.gpujoin_error) C.gpujoin_status {
		return C.gpujoin_go_build_create(C.handle(c.object.handle), C.handle(like.object.handle),
			int32s(&memory, columns), C.int32_t(len(columns)), int32s(&memory, flags), raw,
			&handle, failed)
	})
	if err != nil {
		return nil, err
	}
	made := newObject("build", uintptr(handle), func(handle uintptr) {
		C.gpujoin_go_build_destroy(C.handle(handle))
	}, c.object)
	kept := *options
	kept.NullEqual, kept.IEEEFloat = slices.Clone(kept.NullEqual), slices.Clone(kept.IEEEFloat)
	build := &Build{object: made, context: c, schema: schema, keys: slices.Clone(keys), options: kept}
	return closeWhenUnreachable(build, made), nil
}

func flagsOf(options *BuildOptions, keys int) ([]C.int32_t, error) {
	flags := make([]C.int32_t, keys)
	for name, given := range map[string][]bool{
		"NullEqual": options.NullEqual, "IEEEFloat": options.IEEEFloat} {
		if given != nil && len(given) != keys {
			return nil, invalid("%s has %d values for %d keys", name, len(given), keys)
		}
	}
	for i := range flags {
		flags[i] = keyFlags(options.isNullEqual(i), options.isIEEEFloat(i))
	}
	return flags, nil
}

func (o *BuildOptions) isNullEqual(key int) bool { return o.NullEqual != nil && o.NullEqual[key] }
func (o *BuildOptions) isIEEEFloat(key int) bool { return o.IEEEFloat != nil && o.IEEEFloat[key] }

// relationLike has the columns of a schema, and no rows.
func (c *Context) relationLike(schema *arrow.Schema) (*Relation, error) {
	if schema == nil {
		return nil, invalid("schema is nil")
	}
	columns := make([]arrow.Array, schema.NumFields())
	for i, field := range schema.Fields() {
		columns[i] = array.MakeArrayOfNull(memory.DefaultAllocator, field.Type, 0)
		defer columns[i].Release()
	}
	batch := array.NewRecordBatch(schema, columns, 0)
	defer batch.Release()
	return c.NewRelation(batch)
}

// Schema is that of its batches.
func (b *Build) Schema() *arrow.Schema { return b.schema }

// Close lets go of the build; operations on it go on.
func (b *Build) Close() { b.object.close() }

// Append copies the rows of a batch, which is the caller's again afterwards; rows are numbered from
// firstRow on, where the build has row numbers. Any number of goroutines append side by side. A
// selected relation is appended by [Build.AppendRelation].
//
// The end of ctx while rows are copied ends the build: the rows would not be complete.
//
// Errors: StatusInvalidArgument (also: the build is finished), StatusType, StatusMemoryLimit,
// StatusOutOfMemory, StatusSpill, StatusCancelled, StatusDeadline, StatusCUDA, StatusDeviceLost.
// After one of the batch's columns the build is as before; after any other it is lost.
func (b *Build) Append(ctx context.Context, batch arrow.RecordBatch, firstRow int64) error {
	return b.context.ofBatch(ctx, batch, func(relation *Relation) error {
		return b.AppendRelation(ctx, relation, firstRow)
	})
}

// AppendRelation is Append of a relation; of a selected one, whose rows have the numbers of the
// relation that it was made of.
func (b *Build) AppendRelation(ctx context.Context, batch *Relation, firstRow int64) error {
	return b.context.holding("batch", batch, func() error {
		return b.run(ctx, func(stop *C.uint32_t, failed *C.gpujoin_error) C.gpujoin_status {
			return C.gpujoin_go_build_append(stop, C.handle(b.object.handle),
				C.handle(batch.object.handle), C.int64_t(firstRow), failed)
		})
	})
}

// Finish says that no further batch will come: once, when all appends have returned. Errors: those
// of Append.
func (b *Build) Finish(ctx context.Context) error {
	return b.run(ctx, func(stop *C.uint32_t, failed *C.gpujoin_error) C.gpujoin_status {
		return C.gpujoin_go_build_finish(stop, C.handle(b.object.handle), failed)
	})
}

func (b *Build) run(ctx context.Context,
	call func(stop *C.uint32_t, failed *C.gpujoin_error) C.gpujoin_status) error {
	if err := b.object.hold(); err != nil {
		return err
	}
	defer b.object.letGo()
	return compute(ctx, func() { _ = b.Cancel() }, call)
}

// Info is what the build has so far. It does not wait.
func (b *Build) Info() (BuildInfo, error) {
	raw := zeroed[C.gpujoin_build_info]()
	err := b.object.plainly(func(build C.handle, failed *C.gpujoin_error) C.gpujoin_status {
		return C.gpujoin_go_build_get_info(build, raw, failed)
	})
	return BuildInfo{
		Finished:     raw.is_finished != 0,
		Rows:         int64(raw.rows),
		Bytes:        uint64(raw.bytes),
		SpilledBytes: uint64(raw.spilled_bytes),
		Whole:        raw.is_whole != 0,
		Partitions:   int(raw.partitions),
	}, err
}

// Cancel ends calls on the build that run now, and later ones, with StatusCancelled; joins with a
// finished build go on.
func (b *Build) Cancel() error {
	return b.object.plainly(func(build C.handle, failed *C.gpujoin_error) C.gpujoin_status {
		return C.gpujoin_go_build_cancel(build, failed)
	})
}
