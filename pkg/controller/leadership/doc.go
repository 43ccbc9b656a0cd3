// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package leadership decides which antrea-controller serves while there are several, as in a rolling update.
//
// The controller that became ready last serves: it enters itself as the holder of the Lease antrea-controller, regardless
// of the former holder. The former holder notices at its next renewal, ends its watches and stands by. Each process takes
// the Lease over only once, so two controllers that run at the same time do not take it from each other in turn. A
// controller on standby takes it when it is released, or has not been renewed for its duration.
//
// This is not client-go's leaderelection, where the holder stays until it ends: a Deployment ends the former Pod only when
// the new one is ready. It does no harm when two serve for a moment, since both compute the same from the same objects. So
// a holder that cannot reach the Kubernetes API continues to serve: agents that start at that time need it most. For the
// same reason a controller that cannot write the Lease serves if it lacks the permission, or if no other holder is known to
// live.
//
// core.go decides, without I/O; leadership.go does it.
package leadership
