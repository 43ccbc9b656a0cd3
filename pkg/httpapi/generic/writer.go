// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package generic

import (
	"net/http"
	"time"

	"k8s.io/apiserver/pkg/endpoints/responsewriter"
)

// boundedWriter limits the time that the client may take to read each piece of an answer. There is no limit between the
// pieces: watches may be silent for long.
type boundedWriter struct {
	http.ResponseWriter
	control *http.ResponseController
	limit   time.Duration
}

var _ responsewriter.UserProvidedDecorator = (*boundedWriter)(nil)

// boundWrites returns the writer to answer with, and a function to call when the answer is complete except for buffered
// data.
func boundWrites(w http.ResponseWriter, limit time.Duration) (bounded http.ResponseWriter, finish func()) {
	b := &boundedWriter{ResponseWriter: w, control: http.NewResponseController(w), limit: limit}
	b.release() // the end of the connection's last answer may have left a limit
	return responsewriter.WrapForHTTP1Or2(b), b.hold
}

// Unwrap returns the underlying writer.
func (b *boundedWriter) Unwrap() http.ResponseWriter { return b.ResponseWriter }

func (b *boundedWriter) Write(p []byte) (int, error) {
	b.hold()
	defer b.release()
	return b.ResponseWriter.Write(p)
}

// Flush implements http.Flusher. The next Write returns the error.
func (b *boundedWriter) Flush() {
	b.hold()
	defer b.release()
	_ = b.control.Flush()
}

// hold and release do nothing on a closed connection.
func (b *boundedWriter) hold()    { _ = b.control.SetWriteDeadline(time.Now().Add(b.limit)) }
func (b *boundedWriter) release() { _ = b.control.SetWriteDeadline(time.Time{}) }
