// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package generic

import (
	"net/http"
	"net/netip"
	"slices"
	"sync"
)

const (
	// webhookBytes is the largest body of a webhook: an object and what it was before, each as large as etcd takes it (1.5 MiB).
	webhookBytes = 3 << 20
	// largeBodies limits the bodies in memory at once that exceed the limit of other requests, largeBodiesOfSource the
	// bodies of one source.
	largeBodies, largeBodiesOfSource = 8, 2
)

// bodies bounds the memory that bodies take. Webhooks, whose clients do not identify themselves, may have large ones, but only a few at once.
type bodies struct {
	limit    int64
	webhooks []string

	mu sync.Mutex
	// large are the sources of large bodies that are in memory.
	large []netip.Prefix
}

// allow returns the maximum size of the request's body. The caller calls release afterwards. It is not ok if the body
// may be large and there are too many large bodies.
func (b *bodies) allow(r *http.Request) (limit int64, release func(), ok bool) {
	small := r.ContentLength >= 0 && r.ContentLength <= b.limit
	if small || !slices.Contains(b.webhooks, r.URL.Path) {
		return b.limit, func() {}, true
	}
	source := sourceOf(r.RemoteAddr)
	b.mu.Lock()
	defer b.mu.Unlock()
	same := 0
	for _, other := range b.large {
		if other == source {
			same++
		}
	}
	if same >= largeBodiesOfSource || len(b.large) >= largeBodies {
		return 0, nil, false
	}
	b.large = append(b.large, source)
	return webhookBytes, func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		i := slices.Index(b.large, source)
		b.large = slices.Delete(b.large, i, i+1)
	}, true
}
