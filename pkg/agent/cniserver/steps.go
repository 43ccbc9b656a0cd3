// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package cniserver

// did marks the end of each step with effects outside the process. An agent may die there, and the next one must cope with
// the effects. Tests stop the server at these places.
func (s *Server) did(step string) {
	if s.afterStep != nil {
		s.afterStep(step)
	}
}
