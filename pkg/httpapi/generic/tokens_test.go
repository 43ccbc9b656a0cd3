// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package generic

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/request/bearertoken"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	authenticationclient "k8s.io/client-go/kubernetes/typed/authentication/v1"
	clocktesting "k8s.io/utils/clock/testing"
)

// reviews maps tokens to users.
type reviews struct {
	authenticationclient.TokenReviewInterface
	users map[string]string
	err   error
	asked int
}

func (r *reviews) Create(_ context.Context, review *authenticationv1.TokenReview, _ metav1.CreateOptions) (*authenticationv1.TokenReview, error) {
	r.asked++
	if r.err != nil {
		return nil, r.err
	}
	name, ok := r.users[review.Spec.Token]
	review = review.DeepCopy()
	review.Status = authenticationv1.TokenReviewStatus{Authenticated: ok, User: authenticationv1.UserInfo{
		Username: name, Extra: map[string]authenticationv1.ExtraValue{serviceaccount.NodeNameKey: {"node-1"}},
	}}
	if !ok {
		review.Status.Error = "invalid bearer token"
	}
	return review, nil
}

var (
	here      = netip.MustParsePrefix("192.0.2.1/32")
	elsewhere = netip.MustParsePrefix("192.0.2.2/32")
)

func TestTokens(t *testing.T) {
	api := &reviews{users: map[string]string{"valid": "user"}}
	clock := clocktesting.NewFakeClock(time.Now())
	limits := Limits{Reviews: 10, ReviewsOfSource: 2}.complete()
	tokens := newTokens(api, "loopback", limits, clock)
	is := func(token, name string) {
		t.Helper()
		response, ok, err := tokens.AuthenticateToken(t.Context(), token)
		require.NoError(t, err)
		require.Equal(t, name != "", ok)
		if ok {
			require.Equal(t, name, response.User.GetName())
			require.Equal(t, map[string][]string{serviceaccount.NodeNameKey: {"node-1"}}, response.User.GetExtra())
		}
	}
	invented := 0
	exhaust := func(source netip.Prefix) (admitted int) {
		for range 100 {
			invented++
			if tokens.mayAsk(source, fmt.Sprint("invented-", invented)) {
				admitted++
			}
		}
		return admitted
	}
	require.True(t, tokens.mayAsk(here, "valid"))
	is("valid", "user")
	is("valid", "user")
	is("wrong", "")
	is("wrong", "")
	require.Equal(t, 2, api.asked, "both kinds of answers are kept")

	require.Equal(t, limits.ReviewsOfSource*burstSeconds-1, exhaust(here), "one was spent")
	require.True(t, tokens.mayAsk(here, "valid"), "who is known is not asked for anything")
	require.True(t, tokens.mayAsk(here, "loopback"))
	require.False(t, tokens.mayAsk(here, "wrong"), "a refusal that is known costs a line in the log")
	require.True(t, tokens.mayAsk(elsewhere, "invented"))
	for i := range 10 {
		exhaust(netip.PrefixFrom(netip.AddrFrom4([4]byte{198, 51, 100, byte(i)}), 32))
	}
	require.False(t, tokens.mayAsk(netip.MustParsePrefix("203.0.113.1/32"), "another"), "all sources together have a limit")
	clock.Step(reviewCacheTTL)
	clock.Step(time.Millisecond)
	exhaust(here)
	for i := range 10 {
		exhaust(netip.PrefixFrom(netip.AddrFrom4([4]byte{198, 51, 100, byte(i)}), 32))
	}
	require.True(t, tokens.mayAsk(here, "valid"), "the answer is too old, but the renewal is not paid from the budget of unknown tokens")
	is("valid", "user")
	require.Equal(t, 3, api.asked)

	clock.Step(reviewCacheTTL + time.Millisecond)
	api.users = nil
	is("valid", "")
	exhaust(here)
	require.False(t, tokens.mayAsk(here, "valid"), "a token that is no longer valid is unknown")
}

func TestFailedReviewsAreNotKept(t *testing.T) {
	api := &reviews{err: apierrors.NewBadRequest("failing")}
	tokens := newTokens(api, "loopback", DefaultLimits(), clocktesting.NewFakeClock(time.Now()))
	_, ok, err := tokens.AuthenticateToken(t.Context(), "valid")
	require.False(t, ok)
	require.ErrorContains(t, err, "failing")
	require.NotContains(t, err.Error(), "valid")
	api.err, api.users = nil, map[string]string{"valid": "user"}
	_, ok, err = tokens.AuthenticateToken(t.Context(), "valid")
	require.True(t, ok)
	require.NoError(t, err)
}

// The gate and the authenticator must agree on what a token is.
func TestBearerToken(t *testing.T) {
	for _, header := range []string{
		"", "Bearer", "Bearer x", "bearer x", "BEARER x", " Bearer x ", "Bearer  x", "Bearer x y", "Bearer\tx", "Basic x", "Bearerx", "x", "Bearer x\ty",
	} {
		r := httptest.NewRequest("GET", "/", nil)
		r.Header.Set("Authorization", header)
		var seen string
		_, _, _ = bearertoken.New(authenticator.TokenFunc(func(_ context.Context, token string) (*authenticator.Response, bool, error) {
			seen = token
			return nil, false, nil
		})).AuthenticateRequest(r)
		require.Equal(t, seen, bearerToken(r), "%q", header)
	}
}

func TestAccess(t *testing.T) {
	var asked int
	var failure error
	delegated := authorizer.AuthorizerFunc(func(context.Context, authorizer.Attributes) (authorizer.Decision, string, error) {
		asked++
		return authorizer.DecisionAllow, "", failure
	})
	clock := clocktesting.NewFakeClock(time.Now())
	a := newAccess(delegated, Limits{ReviewsOfUser: 2}, clock)
	ask := func(who user.Info, path string) (authorizer.Decision, string) {
		t.Helper()
		decision, reason, err := a.Authorize(t.Context(), authorizer.AttributesRecord{User: who, Verb: "get", Path: path})
		require.Equal(t, failure, err)
		return decision, reason
	}
	agent := func(pod string) user.Info {
		return &user.DefaultInfo{Name: "agent", Extra: map[string][]string{serviceaccount.PodUIDKey: {pod}}}
	}
	for _, who := range []user.Info{nil, &user.DefaultInfo{Name: user.Anonymous}, &user.DefaultInfo{Name: "x", Groups: []string{user.AllUnauthenticated}}} {
		decision, _ := ask(who, "/version")
		require.Equal(t, authorizer.DecisionDeny, decision)
	}
	require.Zero(t, asked)
	for i := range 2 * burstSeconds {
		decision, _ := ask(agent("1"), fmt.Sprint("/", i))
		require.Equal(t, authorizer.DecisionAllow, decision)
	}
	decision, reason := ask(agent("1"), "/new")
	require.Equal(t, authorizer.DecisionDeny, decision)
	require.Contains(t, reason, "more than 2 new questions per second")
	decision, _ = ask(agent("1"), "/0")
	require.Equal(t, authorizer.DecisionAllow, decision, "an answer that is believed costs nothing")
	decision, _ = ask(agent("2"), "/new")
	require.Equal(t, authorizer.DecisionAllow, decision, "another Pod of the same account")
	clock.Step(time.Second)
	decision, _ = ask(agent("1"), "/new")
	require.Equal(t, authorizer.DecisionAllow, decision)
	clock.Step(time.Minute)
	failure = errors.New("no answer")
	for range 2 * burstSeconds {
		ask(agent("3"), "/same")
	}
	_, _, err := a.Authorize(t.Context(), authorizer.AttributesRecord{User: agent("3"), Path: "/same"})
	require.NoError(t, err, "a question without an answer is a new one the next time")
}
