// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package generic

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/authenticatorfactory"
	"k8s.io/apiserver/pkg/authentication/group"
	"k8s.io/apiserver/pkg/authentication/request/anonymous"
	"k8s.io/apiserver/pkg/authentication/request/bearertoken"
	"k8s.io/apiserver/pkg/authentication/request/headerrequest"
	unionauth "k8s.io/apiserver/pkg/authentication/request/union"
	"k8s.io/apiserver/pkg/authentication/request/x509"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/authorization/authorizerfactory"
	"k8s.io/apiserver/pkg/authorization/path"
	"k8s.io/apiserver/pkg/authorization/union"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	genericoptions "k8s.io/apiserver/pkg/server/options"
	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
)

const (
	// reviewCacheTTL is the time for which answers of the Kubernetes API about tokens and access are cached.
	reviewCacheTTL = 10 * time.Second
	reviewTimeout  = 10 * time.Second

	clientCANamespace = "kube-system"
	clientCAConfigMap = "extension-apiserver-authentication"
	clientCAKey       = "client-ca-file"
	// Keys of the data that the cluster publishes about its aggregator; all but the first are JSON lists.
	proxyCAKey       = "requestheader-client-ca-file"
	proxyNamesKey    = "requestheader-allowed-names"
	proxyUserKey     = "requestheader-username-headers"
	proxyUIDKey      = "requestheader-uid-headers"
	proxyGroupKey    = "requestheader-group-headers"
	proxyExtraPrefix = "requestheader-extra-headers-prefix"
)

var alwaysAllowedPaths = []string{"/healthz", "/healthz/*", "/livez", "/livez/*", "/readyz", "/readyz/*"}

// delegateAuth lets the Kubernetes API, accessed with client, decide who a client of the server configured by c is and what
// it may read. Health paths and webhooks are open to everyone, and nothing else to clients that do not identify themselves. With
// aggregated set, the cluster's aggregator may name its clients. The server works without the ConfigMap that publishes the
// cluster's CAs, but then ignores client certificates.
func delegateAuth(ctx context.Context, c *genericapiserver.Config, client kubernetes.Interface, aggregated bool, webhooks []string, limits Limits) (*tokens, error) {
	var authenticators []authenticator.Request
	published, err := clusterCAs(ctx, client)
	if err != nil {
		klog.InfoS("The API server accepts no client certificates", "reason", err.Error())
	} else if authenticators, err = certificateAuthenticators(c, published, aggregated); err != nil {
		return nil, err
	}
	tokens := newTokens(client.AuthenticationV1().TokenReviews(), c.LoopbackClientConfig.BearerToken, limits, clock.RealClock{})
	authenticators = append(authenticators, bearertoken.New(tokens))
	// Anonymous clients must pass authentication, because authorization lets them read the health paths.
	c.Authentication.Authenticator = unionauth.NewFailOnError(group.NewAuthenticatedGroupAdder(unionauth.New(authenticators...)),
		anonymous.NewAuthenticator(nil))

	allowedPaths, err := path.NewAuthorizer(slices.Concat(alwaysAllowedPaths, webhooks))
	if err != nil {
		return nil, fmt.Errorf("setting up authorization for the API server: %w", err)
	}
	delegated, err := authorizerfactory.DelegatingAuthorizerConfig{
		SubjectAccessReviewClient: client.AuthorizationV1(),
		AllowCacheTTL:             reviewCacheTTL,
		DenyCacheTTL:              reviewCacheTTL,
		WebhookRetryBackoff:       genericoptions.DefaultAuthWebhookRetryBackoff(),
	}.New()
	if err != nil {
		return nil, fmt.Errorf("setting up authorization for the API server: %w", err)
	}
	c.Authorization.Authorizer, err = union.New(
		union.NamedAuthorizer{AuthorizerName: "privileged", Authorizer: authorizerfactory.NewPrivilegedGroups(user.SystemPrivilegedGroup)},
		union.NamedAuthorizer{AuthorizerName: "paths", Authorizer: allowedPaths},
		union.NamedAuthorizer{AuthorizerName: "delegated", Authorizer: authorizer.AuthorizerFunc(newAccess(delegated, limits, clock.RealClock{}).Authorize)},
	)
	if err != nil {
		return nil, fmt.Errorf("setting up authorization for the API server: %w", err)
	}
	return tokens, nil
}

// certificateAuthenticators accept the cluster's aggregator and users, according to the CAs in published.
func certificateAuthenticators(c *genericapiserver.Config, published map[string]string, aggregated bool) ([]authenticator.Request, error) {
	var authenticators []authenticator.Request
	if aggregated {
		if proxy, err := aggregator(published); err != nil {
			klog.InfoS("The API server does not accept the cluster's aggregator", "reason", err.Error())
		} else if err := c.Authentication.ApplyClientCert(proxy.CAContentProvider, c.SecureServing); err != nil {
			return nil, fmt.Errorf("setting up the aggregator's certificate for the API server: %w", err)
		} else {
			// Its headers must be removed from requests.
			c.Authentication.RequestHeaderConfig = proxy
			authenticators = append(authenticators, headerrequest.NewDynamicVerifyOptionsSecure(proxy.CAContentProvider.VerifyOptions,
				proxy.AllowedClientNames, proxy.UsernameHeaders, proxy.UIDHeaders, proxy.GroupHeaders, proxy.ExtraHeaderPrefixes))
		}
	}
	if ca, err := caOf(published, clientCAKey); err != nil {
		klog.InfoS("The API server accepts no client certificates of users", "reason", err.Error())
	} else if err := c.Authentication.ApplyClientCert(ca, c.SecureServing); err != nil {
		return nil, fmt.Errorf("setting up client certificates for the API server: %w", err)
	} else {
		authenticators = append(authenticators, x509.NewDynamic(ca.VerifyOptions, x509.CommonNameUserConversion))
	}
	return authenticators, nil
}

// clusterCAs returns the data that the cluster publishes for delegated authentication at present; a later CA is trusted
// after the next start. It is deliberately not watched: while a watched CA is unreadable the TLS layer refuses every
// connection, including antctl's.
func clusterCAs(ctx context.Context, client kubernetes.Interface) (map[string]string, error) {
	ctx, cancel := context.WithTimeout(ctx, reviewTimeout)
	defer cancel()
	configMap, err := client.CoreV1().ConfigMaps(clientCANamespace).Get(ctx, clientCAConfigMap, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("reading ConfigMap %s/%s: %w", clientCANamespace, clientCAConfigMap, err)
	}
	return configMap.Data, nil
}

func caOf(published map[string]string, key string) (dynamiccertificates.CAContentProvider, error) {
	ca, err := dynamiccertificates.NewStaticCAContent(key, []byte(published[key]))
	if err != nil {
		return nil, fmt.Errorf("%s in ConfigMap %s/%s: %w", key, clientCANamespace, clientCAConfigMap, err)
	}
	return ca, nil
}

// aggregator returns how kube-apiserver's aggregator authenticates itself and names its clients.
func aggregator(published map[string]string) (*authenticatorfactory.RequestHeaderConfig, error) {
	ca, err := caOf(published, proxyCAKey)
	if err != nil {
		return nil, err
	}
	config := &authenticatorfactory.RequestHeaderConfig{CAContentProvider: ca}
	for key, list := range map[string]*headerrequest.StringSliceProvider{
		proxyNamesKey: &config.AllowedClientNames, proxyUserKey: &config.UsernameHeaders, proxyUIDKey: &config.UIDHeaders,
		proxyGroupKey: &config.GroupHeaders, proxyExtraPrefix: &config.ExtraHeaderPrefixes,
	} {
		var values []string
		if text := published[key]; text != "" {
			if err := json.Unmarshal([]byte(text), &values); err != nil {
				return nil, fmt.Errorf("%s in ConfigMap %s/%s: %q is not a JSON list of strings: %w", key, clientCANamespace, clientCAConfigMap, text, err)
			}
		}
		*list = headerrequest.StaticStringSlice(values)
	}
	return config, nil
}
