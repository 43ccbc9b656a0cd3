// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// FuzzReview: every request is answered, and only a review reaches a Webhook.
func FuzzReview(f *testing.F) {
	f.Add(`{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {"uid": "u", "object": {"spec": {}}}}`)
	f.Add(`{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": null}`)
	f.Add(`{"request": [}`)
	f.Fuzz(func(t *testing.T, body string) {
		review, err := read(strings.NewReader(body))
		if err != nil {
			require.Regexp(t, "the body is", err.Error())
			return
		}
		require.NotNil(t, review.Request)
		require.Equal(t, "AdmissionReview", review.Kind)
	})
}
