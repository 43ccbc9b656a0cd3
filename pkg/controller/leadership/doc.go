// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package leadership decides which antrea-controller serves while there are several, as in a rolling update.
//
// The controller that became ready last serves: it enters itself as the holder of the Lease antrea-controller, whoever
// held it. The former holder sees that when it renews, ends its watches and stands by. Each process does that once, so two
// controllers that live side by side do not take the Lease from each other in turns. One that stands by takes it when it is
// given back, or has not been renewed for its duration.
//
// This is not client-go's leaderelection, where the holder stays until it ends: a Deployment ends the former Pod only when
// the new one is ready. And nothing goes wrong when two serve for a moment, since both compute the same from the same
// objects. So a holder that cannot reach the Kubernetes API goes on serving: agents that start then need it most. For the same
// reason a controller serves that cannot write the Lease, if it may never do so or no other holder is known to live.
//
// core.go decides, without I/O; leadership.go does it.
package leadership
