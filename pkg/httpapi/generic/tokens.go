// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package generic

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"net/netip"
	"time"

	"golang.org/x/sync/singleflight"
	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/cache"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/user"
	genericoptions "k8s.io/apiserver/pkg/server/options"
	"k8s.io/apiserver/pkg/util/webhook"
	authenticationclient "k8s.io/client-go/kubernetes/typed/authentication/v1"
	"k8s.io/client-go/util/flowcontrol"
	"k8s.io/utils/clock"
)

const (
	// rememberedTokens bounds the memory for tokens; each takes a few hundred bytes.
	rememberedTokens = 16384
	// acquaintance is the time for which a valid token counts as known.
	acquaintance = 10 * time.Minute
)

// tokens asks the Kubernetes API for the users of bearer tokens. Both kinds of answers are cached for reviewCacheTTL.
// Unknown tokens share limited budgets, so they cannot prevent the renewal of known ones.
type tokens struct {
	client   authenticationclient.TokenReviewInterface
	loopback string
	// salt makes the remembered hashes useless for comparison with tokens.
	salt [sha256.Size]byte
	// answers are *authenticator.Response by token, nil for invalid tokens; known are the valid ones, kept for longer.
	answers, known *cache.LRUExpireCache
	asking         singleflight.Group
	all            flowcontrol.PassiveRateLimiter
	ofSource       *budgets
}

var _ authenticator.Token = (*tokens)(nil)

// newTokens makes the authenticator. The loopback token costs no review.
func newTokens(client authenticationclient.TokenReviewInterface, loopback string, limits Limits, clock clock.PassiveClock) *tokens {
	t := &tokens{
		client: client, loopback: loopback,
		answers: cache.NewLRUExpireCacheWithClock(rememberedTokens, clock), known: cache.NewLRUExpireCacheWithClock(rememberedTokens, clock),
		all: newBudget(limits.Reviews, clock), ofSource: newBudgets(limits.ReviewsOfSource, clock),
	}
	// It never fails (crypto/rand).
	_, _ = rand.Read(t.salt[:])
	return t
}

type tokenKey [sha256.Size]byte

func (t *tokens) key(token string) tokenKey { return sha256.Sum256(append(t.salt[:], token...)) }

// mayAsk reports whether a token may proceed to AuthenticateToken. It charges the budgets for the review.
func (t *tokens) mayAsk(source netip.Prefix, token string) bool {
	key := t.key(token)
	if key == t.key(t.loopback) {
		return true
	}
	if answer, ok := t.answers.Get(key); ok {
		// Another refusal costs no review, but a line in the log.
		return answer.(*authenticator.Response) != nil || t.ofSource.spend(source)
	}
	if _, ok := t.known.Get(key); ok {
		return true
	}
	return t.ofSource.spend(source) && t.all.TryAccept()
}

// AuthenticateToken implements authenticator.Token. An error means that the Kubernetes API does not answer.
func (t *tokens) AuthenticateToken(ctx context.Context, token string) (*authenticator.Response, bool, error) {
	key := t.key(token)
	if answer, ok := t.answers.Get(key); ok {
		response := answer.(*authenticator.Response)
		return response, response != nil, nil
	}
	asked := t.asking.DoChan(string(key[:]), func() (any, error) {
		// Others may still wait for this answer after the first request has ended.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), reviewTimeout)
		defer cancel()
		response, err := t.review(ctx, token)
		if err != nil {
			return nil, err
		}
		t.answers.Add(key, response, reviewCacheTTL)
		if response != nil {
			t.known.Add(key, nil, acquaintance)
		} else {
			t.known.Remove(key)
		}
		return response, nil
	})
	select {
	case <-ctx.Done():
		return nil, false, ctx.Err()
	case result := <-asked:
		if result.Err != nil {
			return nil, false, result.Err
		}
		response := result.Val.(*authenticator.Response)
		return response, response != nil, nil
	}
}

// review asks the Kubernetes API; the answer is nil for an invalid token.
func (t *tokens) review(ctx context.Context, token string) (*authenticator.Response, error) {
	var result *authenticationv1.TokenReview
	err := webhook.WithExponentialBackoff(ctx, *genericoptions.DefaultAuthWebhookRetryBackoff(), func() (err error) {
		review := &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: token}}
		result, err = t.client.Create(quiet(ctx), review, metav1.CreateOptions{})
		return err
	}, webhook.DefaultShouldRetry)
	if err != nil {
		return nil, fmt.Errorf("asking the Kubernetes API for the review of a token: %w", err)
	}
	if !result.Status.Authenticated {
		return nil, nil
	}
	who := &user.DefaultInfo{Name: result.Status.User.Username, UID: result.Status.User.UID, Groups: result.Status.User.Groups}
	for name, values := range result.Status.User.Extra {
		if who.Extra == nil {
			who.Extra = map[string][]string{}
		}
		who.Extra[name] = values
	}
	return &authenticator.Response{User: who}, nil
}
