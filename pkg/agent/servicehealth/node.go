// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package servicehealth

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"

	"github.com/antrea-oncache/antrea/pkg/retry"
)

// nodeHealth is the answer for the Node.
type nodeHealth struct {
	LastUpdated  *time.Time `json:"lastUpdated,omitempty"`
	CurrentTime  time.Time  `json:"currentTime"`
	NodeEligible bool       `json:"nodeEligible"`
}

// Run answers at address whether Services are installed, and ends all listeners when ctx ends. Another process may have the port for a
// while, such as kube-proxy before it is removed.
func (s *Server) Run(ctx context.Context, address string) {
	defer s.Close()
	task := retry.NewTask("Answering health checks of the Node", 0, retry.Backoff{Min: time.Second, Max: time.Minute}, "address", address)
	for {
		server, err := s.serveNode(address)
		delay := task.Done(err)
		if err == nil {
			klog.InfoS("Answering health checks of the Node", "address", address)
			<-ctx.Done()
			_ = server.Close()
			return
		}
		if retry.Sleep(ctx, delay) != nil {
			return
		}
	}
}

func (s *Server) serveNode(address string) (*http.Server, error) {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listen at %s: %w", address, err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { s.answerNode(w, !s.leaving.Load()) })
	mux.HandleFunc("GET /livez", func(w http.ResponseWriter, _ *http.Request) { s.answerNode(w, true) })
	return s.serve(l, mux), nil
}

// toBeDeleted is the taint of a Node that the cluster autoscaler is about to delete.
const toBeDeleted = "ToBeDeletedByClusterAutoscaler"

// SetNode says what the Node's object is; nil: it is gone. Load balancers shall send no new connections to a Node that is about to go (KEP-3836).
func (s *Server) SetNode(node *corev1.Node) {
	s.leaving.Store(node == nil || !node.DeletionTimestamp.IsZero() ||
		slices.ContainsFunc(node.Spec.Taints, func(t corev1.Taint) bool { return t.Key == toBeDeleted }))
}

// answerNode answers whether the Node forwards connections to Services, and, for those who send new ones, whether it may.
func (s *Server) answerNode(w http.ResponseWriter, may bool) {
	// This cannot fail.
	text, _ := json.Marshal(nodeHealth{LastUpdated: s.readySince.Load(), CurrentTime: time.Now(), NodeEligible: !s.leaving.Load()})
	answer(w, s.healthy() && may, text)
}
