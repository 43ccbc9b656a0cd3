// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/apis/apiserver"
	"k8s.io/apiserver/pkg/authentication/authenticatorfactory"
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
)

var alwaysAllowedPaths = []string{"/healthz", "/healthz/*", "/livez", "/livez/*", "/readyz", "/readyz/*"}

// delegateAuth lets the Kubernetes API decide who a client is and what it may read. The server works without the
// ConfigMap that publishes the cluster's client CA: then client certificates are not looked at.
func delegateAuth(ctx context.Context, c *genericapiserver.Config, client kubernetes.Interface) error {
	authentication := authenticatorfactory.DelegatingAuthenticatorConfig{
		// Anonymous clients must get as far as authorization, which lets them see the health paths.
		Anonymous:                &apiserver.AnonymousAuthConfig{Enabled: true},
		TokenAccessReviewClient:  client.AuthenticationV1(),
		TokenAccessReviewTimeout: reviewTimeout,
		WebhookRetryBackoff:      genericoptions.DefaultAuthWebhookRetryBackoff(),
		CacheTTL:                 reviewCacheTTL,
	}
	ca, err := clusterClientCA(ctx, client)
	if err != nil {
		klog.InfoS("The agent's API server accepts no client certificates", "reason", err.Error())
	} else {
		authentication.ClientCertificateCAContentProvider = ca
		if err := c.Authentication.ApplyClientCert(ca, c.SecureServing); err != nil {
			return fmt.Errorf("setting up client certificates for the API server: %w", err)
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

// clusterClientCA returns the cluster's client CA as it is now; a later CA is trusted after the agent's next start. It is
// not watched on purpose: while a watched CA is unreadable the TLS layer refuses every connection, antctl's too.
func clusterClientCA(ctx context.Context, client kubernetes.Interface) (dynamiccertificates.CAContentProvider, error) {
	ctx, cancel := context.WithTimeout(ctx, reviewTimeout)
	defer cancel()
	configMap, err := client.CoreV1().ConfigMaps(clientCANamespace).Get(ctx, clientCAConfigMap, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("reading ConfigMap %s/%s: %w", clientCANamespace, clientCAConfigMap, err)
	}
	ca, err := dynamiccertificates.NewStaticCAContent("client-ca", []byte(configMap.Data[clientCAKey]))
	if err != nil {
		return nil, fmt.Errorf("%s in ConfigMap %s/%s: %w", clientCAKey, clientCANamespace, clientCAConfigMap, err)
	}
	return ca, nil
}

// writeToken replaces the token file in one step, so that no reader sees half of it and nobody else can ever read it.
func writeToken(file, token string) error {
	dir := filepath.Dir(file)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("making the directory of the loopback token: %w", err)
	}
	temporary, err := os.CreateTemp(dir, ".token-") // mode 0600
	if err != nil {
		return fmt.Errorf("writing the loopback token: %w", err)
	}
	_, err = temporary.WriteString(token)
	err = errors.Join(err, temporary.Close())
	if err == nil {
		err = os.Rename(temporary.Name(), file)
	}
	if err != nil {
		_ = os.Remove(temporary.Name())
		return fmt.Errorf("writing the loopback token %s: %w", file, err)
	}
	return nil
}
