// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package supportbundle

import (
	"context"
	"fmt"
	"io"
	"time"
)

// grace is the time that an item may take to notice the end of its time. A program that is killed needs a second.
const grace = 2 * time.Second

// collectWithin runs collect until ctx ends, and a little longer. One that panics, or does not end, is an error; what it has written by then is
// kept, and what it writes later is lost.
func collectWithin(ctx context.Context, collect func(context.Context, io.Writer) error, to io.Writer) error {
	reader, writer := io.Pipe()
	done := make(chan error, 1)
	go func() {
		var err error
		defer func() {
			if reason := recover(); reason != nil {
				err = fmt.Errorf("the collection panics: %v", reason)
			}
			writer.Close()
			done <- err
		}()
		err = collect(ctx, writer)
	}()
	over := make(chan struct{})
	defer context.AfterFunc(ctx, func() {
		time.AfterFunc(grace, func() {
			reader.CloseWithError(ctx.Err())
			close(over)
		})
	})()
	// It ends with the collection, at the limit on the size, or when the reader is closed.
	_, err := io.Copy(to, reader)
	if err != nil {
		reader.CloseWithError(err)
	}
	select {
	case collected := <-done:
		if collected != nil {
			return collected
		}
		return err
	case <-over:
		return fmt.Errorf("the collection does not end: %w", ctx.Err())
	}
}
