package gpujoin

import (
	"runtime"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// A pinnedBuffer keeps a buffer that C points to where it is: memory of Go is pinned until the
// library has released the array. It is the allocator of a buffer with the same bytes, which is
// told when that one goes.
type pinnedBuffer struct {
	of   *memory.Buffer
	pins runtime.Pinner
}

func (p *pinnedBuffer) Allocate(int) []byte           { panic("gpujoin: a pinned buffer is const") }
func (p *pinnedBuffer) Reallocate(int, []byte) []byte { panic("gpujoin: a pinned buffer is const") }
func (p *pinnedBuffer) Free([]byte) {
	p.pins.Unpin()
	p.of.Release()
}

func pinned(buffer *memory.Buffer) *memory.Buffer {
	if buffer == nil || buffer.Len() == 0 {
		return nil
	}
	buffer.Retain()
	kept := &pinnedBuffer{of: buffer}
	kept.pins.Pin(&buffer.Bytes()[0])
	return memory.NewBufferWithAllocator(buffer.Bytes(), kept)
}

// pinnedData is the same data in pinned buffers; release it.
func pinnedData(data arrow.ArrayData) *array.Data {
	buffers := make([]*memory.Buffer, len(data.Buffers()))
	for i, buffer := range data.Buffers() {
		buffers[i] = pinned(buffer)
	}
	defer memory.ReleaseBuffers(buffers)
	children := make([]arrow.ArrayData, len(data.Children()))
	for i, child := range data.Children() {
		of := pinnedData(child)
		defer of.Release()
		children[i] = of
	}
	made := array.NewData(data.DataType(), data.Len(), buffers, children, data.NullN(),
		data.Offset())
	if values := dictionaryOf(data); values != nil {
		of := pinnedData(values)
		defer of.Release()
		made.SetDictionary(of)
	}
	return made
}

func dictionaryOf(data arrow.ArrayData) arrow.ArrayData {
	if data.DataType().ID() != arrow.DICTIONARY {
		return nil
	}
	return data.Dictionary()
}

// pinnedBatch is the same batch in pinned buffers; release it.
func pinnedBatch(batch arrow.RecordBatch) arrow.RecordBatch {
	columns := make([]arrow.Array, batch.NumCols())
	for i, column := range batch.Columns() {
		data := pinnedData(column.Data())
		columns[i] = array.MakeFromData(data)
		data.Release()
		defer columns[i].Release()
	}
	return array.NewRecordBatch(batch.Schema(), columns, batch.NumRows())
}
