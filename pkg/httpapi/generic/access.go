// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package generic

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/util/cache"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/utils/clock"
)

// rememberedQuestions is the number of answers that the authorizer of k8s.io/apiserver remembers.
const rememberedQuestions = 8192

// access asks the Kubernetes API what users may do. Clients that have not identified themselves are denied without asking:
// the rights that a cluster grants to everyone (system:unauthenticated) are meant for its own API. Each user has a budget
// of new questions.
type access struct {
	delegated authorizer.Authorizer
	// asked are the questions whose answers are still cached.
	asked  *cache.LRUExpireCache
	budget *budgets
	rate   int
}

func newAccess(delegated authorizer.Authorizer, limits Limits, clock clock.PassiveClock) *access {
	return &access{
		delegated: delegated, rate: limits.ReviewsOfUser,
		asked: cache.NewLRUExpireCacheWithClock(rememberedQuestions, clock), budget: newBudgets(limits.ReviewsOfUser, clock),
	}
}

// Authorize is an authorizer.AuthorizerFunc.
func (a *access) Authorize(ctx context.Context, attributes authorizer.Attributes) (authorizer.Decision, string, error) {
	who := attributes.GetUser()
	if who == nil || who.GetName() == user.Anonymous || slices.Contains(who.GetGroups(), user.AllUnauthenticated) {
		return authorizer.DecisionDeny, "only health checks are open to clients that do not identify themselves", nil
	}
	holder := holderOf(who)
	question, err := questionOf(holder, attributes)
	if err != nil {
		return authorizer.DecisionDeny, "", err
	}
	if _, ok := a.asked.Get(question); !ok && !a.budget.spend(holder) {
		return authorizer.DecisionDeny, fmt.Sprintf("more than %d new questions per second of what this user may do; try again in a second", a.rate), nil
	}
	decision, reason, err := a.delegated.Authorize(ctx, attributes)
	if err == nil {
		a.asked.Add(question, nil, reviewCacheTTL)
	}
	return decision, reason, err
}

// holder is the owner of the budget that a question is charged to. Pods of one service account, such as agents, have one
// each.
type holder struct{ name, uid, pod string }

func holderOf(who user.Info) holder {
	h := holder{name: who.GetName(), uid: who.GetUID()}
	if pod := who.GetExtra()[serviceaccount.PodUIDKey]; len(pod) == 1 {
		h.pod = pod[0]
	}
	return h
}

// questionOf returns the identity of a question.
func questionOf(h holder, attributes authorizer.Attributes) (string, error) {
	fieldSelector, _ := attributes.GetFieldSelector()
	labelSelector, _ := attributes.GetLabelSelector()
	text, err := json.Marshal([]any{
		h.name, h.uid, h.pod, attributes.GetVerb(), attributes.GetPath(), attributes.GetAPIGroup(), attributes.GetAPIVersion(),
		attributes.GetResource(), attributes.GetSubresource(), attributes.GetNamespace(), attributes.GetName(), fieldSelector, labelSelector,
	})
	if err != nil {
		return "", fmt.Errorf("identifying what %s asks for: %w", h.name, err)
	}
	return string(text), nil
}
