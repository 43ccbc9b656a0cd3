// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package generic

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/endpoints/request"
	genericapiserver "k8s.io/apiserver/pkg/server"
)

// gate checks every request first, before its sender is known.
type gate struct {
	limits Limits
	bodies *bodies
	tokens *tokens
	next   http.Handler
}

// guard puts the gate in front of the server that c configures, and admits the connection once a request has passed all
// checks.
func guard(c *genericapiserver.Config, limits Limits, webhooks []string, tokens *tokens) {
	build := c.BuildHandlerChainFunc
	c.BuildHandlerChainFunc = func(handler http.Handler, c *genericapiserver.Config) http.Handler {
		return &gate{limits: limits, bodies: &bodies{limit: limits.BodyBytes, webhooks: webhooks}, tokens: tokens, next: build(admitting(handler), c)}
	}
}

// admitting handles allowed requests. Health paths are open to unknown clients, who remain guests.
func admitting(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if who, ok := request.UserFrom(r.Context()); ok && who.GetName() != user.Anonymous {
			admitConnection(r.Context())
		}
		next.ServeHTTP(w, r)
	})
}

func (g *gate) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w, finish := boundWrites(w, g.limits.Write)
	defer finish()
	limit, release, ok := g.bodies.allow(r)
	if !ok {
		w.Header().Set("Retry-After", "1")
		http.Error(w, "too many large requests at once; try again in a second", http.StatusTooManyRequests)
		return
	}
	defer release()
	if !g.takeBody(w, r, limit) {
		return
	}
	if token := bearerToken(r); token != "" && !g.tokens.mayAsk(sourceOf(r.RemoteAddr), token) {
		w.Header().Set("Retry-After", "1")
		http.Error(w, "too many unknown tokens are waiting for their review; try again in a second", http.StatusTooManyRequests)
		return
	}
	g.next.ServeHTTP(w, r)
}

// takeBody reads the request's body, so that no handler waits for a client. If that fails it answers and returns false.
func (g *gate) takeBody(w http.ResponseWriter, r *http.Request, limit int64) bool {
	if r.ContentLength == 0 {
		return true
	}
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Now().Add(g.limits.Body))
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, limit))
	if err != nil {
		// Do not wait for the rest of the body either.
		w.Header().Set("Connection", "close")
		var tooLarge *http.MaxBytesError
		if errors.As(err, &tooLarge) {
			http.Error(w, fmt.Sprintf("the request's body is larger than %d bytes", tooLarge.Limit), http.StatusRequestEntityTooLarge)
			return false
		}
		http.Error(w, fmt.Sprintf("the request's body did not arrive within %s", g.limits.Body), http.StatusRequestTimeout)
		return false
	}
	_ = control.SetReadDeadline(time.Time{})
	r.Body = io.NopCloser(bytes.NewReader(body))
	return true
}

// bearerToken reads a request's token in the same way as the authenticator of k8s.io/apiserver.
func bearerToken(r *http.Request) string {
	scheme, rest, _ := strings.Cut(strings.TrimSpace(r.Header.Get("Authorization")), " ")
	if !strings.EqualFold(scheme, "bearer") {
		return ""
	}
	token, _, _ := strings.Cut(rest, " ")
	return token
}
