// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package generic

import (
	"context"

	"k8s.io/klog/v2"

	"github.com/antrea-oncache/antrea/pkg/log"
)

// quietSink drops messages above log.MaxLevel, regardless of the flags -v and -vmodule.
type quietSink struct {
	klog.LogSink
}

func (s quietSink) Enabled(level int) bool { return level <= log.MaxLevel && s.LogSink.Enabled(level) }

func (s quietSink) WithValues(keysAndValues ...any) klog.LogSink {
	return quietSink{s.LogSink.WithValues(keysAndValues...)}
}

func (s quietSink) WithName(name string) klog.LogSink { return quietSink{s.LogSink.WithName(name)} }

// quiet returns a context for calls of the client library with secrets in their bodies.
func quiet(ctx context.Context) context.Context {
	logger := klog.FromContext(ctx)
	return klog.NewContext(ctx, logger.WithSink(quietSink{logger.GetSink()}))
}
