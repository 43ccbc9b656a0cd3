// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package servicehealth

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"time"

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
	for _, path := range []string{"/healthz", "/livez"} {
		mux.HandleFunc("GET "+path, s.answerNode)
	}
	return serve(l, mux), nil
}

func (s *Server) answerNode(w http.ResponseWriter, _ *http.Request) {
	since := s.readySince.Load()
	answer(w, since != nil, nodeHealth{LastUpdated: since, CurrentTime: time.Now(), NodeEligible: true})
}
