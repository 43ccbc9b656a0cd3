// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package generic

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/apis/apiserver"
	"k8s.io/apiserver/pkg/authentication/authenticatorfactory"
	"k8s.io/apiserver/pkg/authentication/request/headerrequest"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizerfactory"
	"k8s.io/apiserver/pkg/authorization/path"
	"k8s.io/apiserver/pkg/authorization/union"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	genericoptions "k8s.io/apiserver/pkg/server/options"
	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"
)

const (
	// reviewCacheTTL is how long the Kubernetes API's answer about a token or an access is believed.
	reviewCacheTTL = 10 * time.Second
	reviewTimeout  = 10 * time.Second

	clientCANamespace = "kube-system"
	clientCAConfigMap = "extension-apiserver-authentication"
	clientCAKey       = "client-ca-file"
	// Keys of what the cluster says of its aggregator; all but the first are JSON lists.
	proxyCAKey       = "requestheader-client-ca-file"
	proxyNamesKey    = "requestheader-allowed-names"
	proxyUserKey     = "requestheader-username-headers"
	proxyUIDKey      = "requestheader-uid-headers"
	proxyGroupKey    = "requestheader-group-headers"
	proxyExtraPrefix = "requestheader-extra-headers-prefix"
)

var alwaysAllowedPaths = []string{"/healthz", "/healthz/*", "/livez", "/livez/*", "/readyz", "/readyz/*"}

// DelegateAuth lets the Kubernetes API decide who a client of the server configured by c is and what it may read; client is
// for that. Health paths are open to everyone. With aggregated set, the cluster's aggregator may say who its clients are.
// The server works without the ConfigMap that publishes the cluster's CAs: then client certificates are not looked at.
func DelegateAuth(ctx context.Context, c *genericapiserver.Config, client kubernetes.Interface, aggregated bool) error {
	authentication := authenticatorfactory.DelegatingAuthenticatorConfig{
		// Anonymous clients must get as far as authorization, which lets them see the health paths.
		Anonymous:                &apiserver.AnonymousAuthConfig{Enabled: true},
		TokenAccessReviewClient:  client.AuthenticationV1(),
		TokenAccessReviewTimeout: reviewTimeout,
		WebhookRetryBackoff:      genericoptions.DefaultAuthWebhookRetryBackoff(),
		CacheTTL:                 reviewCacheTTL,
	}
	published, err := clusterCAs(ctx, client)
	if err != nil {
		klog.InfoS("The API server accepts no client certificates", "reason", err.Error())
	} else {
		if authentication.ClientCertificateCAContentProvider, err = caOf(published, clientCAKey); err != nil {
			klog.InfoS("The API server accepts no client certificates of users", "reason", err.Error())
		} else if err := c.Authentication.ApplyClientCert(authentication.ClientCertificateCAContentProvider, c.SecureServing); err != nil {
			return fmt.Errorf("setting up client certificates for the API server: %w", err)
		}
		if aggregated {
			if authentication.RequestHeaderConfig, err = aggregator(published); err != nil {
				klog.InfoS("The API server does not accept the cluster's aggregator", "reason", err.Error())
			} else if err := c.Authentication.ApplyClientCert(authentication.RequestHeaderConfig.CAContentProvider, c.SecureServing); err != nil {
				return fmt.Errorf("setting up the aggregator's certificate for the API server: %w", err)
			}
		}
	}
	if c.Authentication.Authenticator, _, err = authentication.New(); err != nil {
		return fmt.Errorf("setting up authentication for the API server: %w", err)
	}

	allowedPaths, err := path.NewAuthorizer(alwaysAllowedPaths)
	if err != nil {
		return fmt.Errorf("setting up authorization for the API server: %w", err)
	}
	delegated, err := authorizerfactory.DelegatingAuthorizerConfig{
		SubjectAccessReviewClient: client.AuthorizationV1(),
		AllowCacheTTL:             reviewCacheTTL,
		DenyCacheTTL:              reviewCacheTTL,
		WebhookRetryBackoff:       genericoptions.DefaultAuthWebhookRetryBackoff(),
	}.New()
	if err != nil {
		return fmt.Errorf("setting up authorization for the API server: %w", err)
	}
	c.Authorization.Authorizer = union.New(authorizerfactory.NewPrivilegedGroups(user.SystemPrivilegedGroup), allowedPaths, delegated)
	return nil
}

// clusterCAs returns what the cluster publishes for delegated authentication as it is now; a later CA is trusted after the
// next start. It is not watched on purpose: while a watched CA is unreadable the TLS layer refuses every connection,
// antctl's too.
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

// aggregator is how kube-apiserver's aggregator proves itself and says who its clients are.
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
