// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package cniserver

// did marks the end of each step that leaves something behind outside of the process: what such steps leave must suit an
// agent that ends there and begins again. Tests stop the server at these places.
func (s *Server) did(step string) {
	if s.afterStep != nil {
		s.afterStep(step)
	}
}
