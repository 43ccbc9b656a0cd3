// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package meterloss

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/openflow"
)

// There is one message for each look at which more packets are missing, also when the counters begin again, and none about earlier agents' losses.
func TestWatch(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	readings, messages := []any{uint64(100), uint64(100), uint64(105), errors.New("no switch"), uint64(105), uint64(3), uint64(0)}, []string{}
	watch(ctx, time.Millisecond, func(context.Context) (map[openflow.Purpose]uint64, error) {
		next := readings[0]
		if readings = readings[1:]; len(readings) == 0 {
			cancel()
		}
		if err, failed := next.(error); failed {
			return nil, err
		}
		return map[openflow.Purpose]uint64{"policies": next.(uint64), "other": 0}, nil
	}, func(purpose openflow.Purpose, lost uint64) { messages = append(messages, fmt.Sprint(purpose, lost)) })
	require.Equal(t, []string{"policies5", "policies3"}, messages)
}
