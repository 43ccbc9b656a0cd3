// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package problems serves /problems: a list of apis.Problem.
package problems

import (
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/antrea-oncache/antrea/pkg/agent/apis"
	"github.com/antrea-oncache/antrea/pkg/agent/problem"
	"github.com/antrea-oncache/antrea/pkg/httpapi/handlers"
)

// Querier knows the present problems.
type Querier interface {
	List() (problems []problem.Problem, dropped int)
}

// HandleFunc lists the present problems, ordered by reason and subject.
func HandleFunc(q Querier) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		present, _ := q.List()
		list := make([]apis.Problem, 0, len(present))
		for _, p := range present {
			list = append(list, apis.Problem{
				Reason: string(p.Reason), Kind: p.Subject.Kind, Namespace: p.Subject.Namespace, Name: p.Subject.Name,
				Since: metav1.NewTime(p.Since), Times: p.Times, Message: p.Message,
			})
		}
		handlers.WriteJSON(w, list)
	}
}
