// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// The plugin as a whole is tested with the server, in pkg/agent/cniserver.
func TestFromStatus(t *testing.T) {
	tests := []struct {
		code codes.Code
		want uint
	}{
		{codes.Unavailable, 11},
		{codes.DeadlineExceeded, 11},
		{codes.Unimplemented, 202},
		{codes.Unknown, 201},
		{codes.Internal, 201},
		{codes.Canceled, 201},
		{codes.ResourceExhausted, 201},
	}
	p := &plugin{socket: "/var/run/antrea/cni.sock"}
	for _, tt := range tests {
		t.Run(tt.code.String(), func(t *testing.T) {
			got := p.fromStatus(status.New(tt.code, "reason"))
			require.Equal(t, tt.want, got.Code)
			require.NotEmpty(t, got.Msg)
			require.Equal(t, "reason", got.Details)
		})
	}
}
