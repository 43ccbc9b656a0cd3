// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package generic

import (
	"net/http"
	"time"

	"k8s.io/apiserver/pkg/endpoints/responsewriter"
)

// boundedWriter gives every piece of an answer a time in which the client must take it. Between the pieces there is no limit:
// watches are silent for long.
type boundedWriter struct {
	http.ResponseWriter
	control *http.ResponseController
	limit   time.Duration
}

var _ responsewriter.UserProvidedDecorator = (*boundedWriter)(nil)

// boundWrites returns the writer to answer with, and what to call when the answer is complete but for what is buffered.
func boundWrites(w http.ResponseWriter, limit time.Duration) (bounded http.ResponseWriter, finish func()) {
	b := &boundedWriter{ResponseWriter: w, control: http.NewResponseController(w), limit: limit}
	b.release() // the end of the connection's last answer may have left a limit
	return responsewriter.WrapForHTTP1Or2(b), b.hold
}

// Unwrap returns the writer that is limited.
func (b *boundedWriter) Unwrap() http.ResponseWriter { return b.ResponseWriter }

func (b *boundedWriter) Write(p []byte) (int, error) {
	b.hold()
	defer b.release()
	return b.ResponseWriter.Write(p)
}

// Flush implements http.Flusher. An error shows in the next Write.
func (b *boundedWriter) Flush() {
	b.hold()
	defer b.release()
	_ = b.control.Flush()
}

// hold and release do nothing on a connection that is gone.
func (b *boundedWriter) hold()    { _ = b.control.SetWriteDeadline(time.Now().Add(b.limit)) }
func (b *boundedWriter) release() { _ = b.control.SetWriteDeadline(time.Time{}) }
