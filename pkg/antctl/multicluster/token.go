// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package multicluster

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/antrea-oncache/antrea/multicluster/apis/multicluster/v1alpha1"
)

const (
	// memberRole is the Role of members in the leader's Namespace.
	memberRole = "antrea-mc-member-cluster-role"
	// controllerAccount is the leader's own ServiceAccount, which is not a member's.
	controllerAccount = "antrea-mc-controller"
)

// Token is the token of a member: a ServiceAccount, a RoleBinding and a Secret with the same name in the leader's Namespace.
type Token struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	ClusterID string `json:"clusterID"`
	// Networks are all that the member may claim, or export Endpoints in; none for no bound.
	Networks []string `json:"networks,omitempty"`
}

// CreateToken makes a member's token, or gives the token of that name to the member, and passes the Secret for the member, in YAML, to deliver.
func (c *Cluster) CreateToken(ctx context.Context, t Token, deliver func(secret []byte) error) (err error) {
	if err := errors.Join(checkName("--namespace", t.Namespace), checkName("the token's name", t.Name), checkID("--cluster-id", t.ClusterID), checkNetworks(t.Networks)); err != nil {
		return err
	}
	if t.Name == controllerAccount {
		return fmt.Errorf("the token's name cannot be %s, which is the leader's own ServiceAccount; choose another one, such as %s-token", t.Name, t.ClusterID)
	}
	if _, err := c.Kube.RbacV1().Roles(t.Namespace).Get(ctx, memberRole, metav1.GetOptions{}); err != nil {
		return fmt.Errorf("reading Role %s/%s, which antctl mc deploy leadercluster makes: %w", t.Namespace, memberRole, err)
	}
	if err := c.checkFree(ctx, t); err != nil {
		return err
	}
	var u undo
	defer func() { err = u.after(ctx, err) }()
	if err := c.bindAccount(ctx, t, &u); err != nil {
		return err
	}
	if err := c.bindRole(ctx, t, &u); err != nil {
		return err
	}
	if err := c.makeSecret(ctx, t, &u); err != nil {
		return err
	}
	secret, err := c.memberSecret(ctx, t.Namespace, t.Name)
	if err != nil {
		return err
	}
	return deliver(secret)
}

func checkNetworks(networks []string) error {
	for _, text := range networks {
		if n, err := netip.ParsePrefix(text); err != nil || !n.Addr().Is4() || n != n.Masked() {
			return fmt.Errorf("--networks: %q is not an IPv4 network such as 10.96.0.0/12", text)
		}
	}
	return nil
}

// checkFree refuses a ClusterID that another ServiceAccount has, or that cannot be told from another one in the names of objects.
func (c *Cluster) checkFree(ctx context.Context, t Token) error {
	accounts, err := c.Kube.CoreV1().ServiceAccounts(t.Namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("listing the ServiceAccounts of Namespace %s: %w", t.Namespace, err)
	}
	for i := range accounts.Items {
		name, other := accounts.Items[i].Name, accounts.Items[i].Annotations[v1alpha1.ClusterIDAnnotation]
		switch {
		case name == t.Name || other == "":
		case other == t.ClusterID:
			return fmt.Errorf("--cluster-id: ServiceAccount %s/%s is the token of cluster %q; delete it first, or choose another ID", t.Namespace, name, other)
		case strings.HasPrefix(other, t.ClusterID+"-") || strings.HasPrefix(t.ClusterID, other+"-"):
			return fmt.Errorf("--cluster-id: %q and %q, the cluster of ServiceAccount %s/%s, cannot be in one ClusterSet: one begins with the other and a dash; choose another ID",
				t.ClusterID, other, t.Namespace, name)
		}
	}
	return nil
}

// bindAccount makes the ServiceAccount with the ClusterID, or gives the ID to the one that exists.
func (c *Cluster) bindAccount(ctx context.Context, t Token, u *undo) error {
	accounts, what := c.Kube.CoreV1().ServiceAccounts(t.Namespace), fmt.Sprintf("ServiceAccount %s/%s", t.Namespace, t.Name)
	current, err := accounts.Get(ctx, t.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		annotations := made()
		annotations[v1alpha1.ClusterIDAnnotation] = t.ClusterID
		if len(t.Networks) > 0 {
			annotations[v1alpha1.NetworksAnnotation] = strings.Join(t.Networks, ",")
		}
		account, err := accounts.Create(ctx, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: t.Name, Annotations: annotations}}, metav1.CreateOptions{})
		if err != nil {
			return fmt.Errorf("making %s: %w", what, err)
		}
		u.add(what, func(ctx context.Context) error { return accounts.Delete(ctx, t.Name, only(account.UID)) })
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading %s: %w", what, err)
	}
	switch former := current.Annotations[v1alpha1.ClusterIDAnnotation]; former {
	case t.ClusterID:
		if len(t.Networks) == 0 {
			return nil
		}
		if err := c.annotateAccount(ctx, t, t.ClusterID); err != nil {
			return fmt.Errorf("giving %s the networks %v: %w", what, t.Networks, err)
		}
		return nil
	case "":
	default:
		// Whoever has the token would become the new member.
		return fmt.Errorf("%s is the token of cluster %q; delete it first (antctl mc delete membertoken), or choose another name", what, former)
	}
	if err := c.annotateAccount(ctx, t, t.ClusterID); err != nil {
		return fmt.Errorf("giving %s to cluster %s: %w", what, t.ClusterID, err)
	}
	u.add("the annotation of "+what, func(ctx context.Context) error { return c.annotateAccount(ctx, t, "") })
	return nil
}

// annotateAccount sets the ClusterID of a ServiceAccount, and its networks if there are any, or removes the ID if it is empty.
func (c *Cluster) annotateAccount(ctx context.Context, t Token, id string) error {
	accounts := c.Kube.CoreV1().ServiceAccounts(t.Namespace)
	account, err := accounts.Get(ctx, t.Name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	account = account.DeepCopy()
	if id == "" {
		delete(account.Annotations, v1alpha1.ClusterIDAnnotation)
	} else {
		metav1.SetMetaDataAnnotation(&account.ObjectMeta, v1alpha1.ClusterIDAnnotation, id)
		if len(t.Networks) > 0 {
			metav1.SetMetaDataAnnotation(&account.ObjectMeta, v1alpha1.NetworksAnnotation, strings.Join(t.Networks, ","))
		}
	}
	_, err = accounts.Update(ctx, account, metav1.UpdateOptions{})
	return err
}

func (c *Cluster) bindRole(ctx context.Context, t Token, u *undo) error {
	bindings, what := c.Kube.RbacV1().RoleBindings(t.Namespace), fmt.Sprintf("RoleBinding %s/%s", t.Namespace, t.Name)
	wanted := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: t.Name, Annotations: made()},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: memberRole},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: t.Namespace, Name: t.Name}},
	}
	current, err := bindings.Get(ctx, t.Name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		binding, err := bindings.Create(ctx, wanted, metav1.CreateOptions{})
		if err != nil {
			return fmt.Errorf("making %s: %w", what, err)
		}
		u.add(what, func(ctx context.Context) error { return bindings.Delete(ctx, t.Name, only(binding.UID)) })
		return nil
	case err != nil:
		return fmt.Errorf("reading %s: %w", what, err)
	case current.RoleRef != wanted.RoleRef || !slices.Equal(current.Subjects, wanted.Subjects):
		return fmt.Errorf("%s exists and does not bind Role %s to ServiceAccount %s only; delete it, or choose another name for the token", what, memberRole, t.Name)
	}
	return nil
}

// makeSecret makes the Secret, which Kubernetes fills.
func (c *Cluster) makeSecret(ctx context.Context, t Token, u *undo) error {
	secrets, what := c.Kube.CoreV1().Secrets(t.Namespace), fmt.Sprintf("Secret %s/%s", t.Namespace, t.Name)
	current, err := secrets.Get(ctx, t.Name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		annotations := made()
		annotations[corev1.ServiceAccountNameKey] = t.Name
		secret, err := secrets.Create(ctx, &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Name: t.Name, Annotations: annotations}, Type: corev1.SecretTypeServiceAccountToken,
		}, metav1.CreateOptions{})
		if err != nil {
			return fmt.Errorf("making %s: %w", what, err)
		}
		u.add(what, func(ctx context.Context) error { return secrets.Delete(ctx, t.Name, only(secret.UID)) })
		return nil
	case err != nil:
		return fmt.Errorf("reading %s: %w", what, err)
	case current.Type != corev1.SecretTypeServiceAccountToken || current.Annotations[corev1.ServiceAccountNameKey] != t.Name:
		return fmt.Errorf("%s exists and does not have the token of ServiceAccount %s; delete it, or choose another name for the token", what, t.Name)
	}
	return nil
}

// memberSecret waits for a token and returns the Secret with it for a member, in YAML.
func (c *Cluster) memberSecret(ctx context.Context, namespace, name string) ([]byte, error) {
	var data map[string][]byte
	err := c.await(ctx, fmt.Sprintf("the token in Secret %s/%s", namespace, name), func(ctx context.Context) (bool, string, error) {
		secret, err := c.Kube.CoreV1().Secrets(namespace).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return false, "", err
		}
		if secret.Type != corev1.SecretTypeServiceAccountToken {
			return false, "", finalError{fmt.Errorf("its type is %s; want %s", secret.Type, corev1.SecretTypeServiceAccountToken)}
		}
		data = secret.Data
		return hasToken(secret), "Kubernetes has not filled it in; is kube-controller-manager running?", nil
	})
	if err != nil {
		return nil, err
	}
	secret := &corev1.Secret{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Type:       corev1.SecretTypeOpaque,
		Data:       map[string][]byte{corev1.ServiceAccountNamespaceKey: []byte(namespace)},
	}
	for _, key := range []string{corev1.ServiceAccountRootCAKey, corev1.ServiceAccountTokenKey} {
		secret.Data[key] = data[key]
	}
	return yaml.Marshal(secret)
}

func hasToken(secret *corev1.Secret) bool {
	return len(secret.Data[corev1.ServiceAccountTokenKey]) > 0 && len(secret.Data[corev1.ServiceAccountRootCAKey]) > 0
}

// Tokens lists the tokens that antctl has made, of one Namespace or of all, of one name or of all.
func (c *Cluster) Tokens(ctx context.Context, namespace, name string) ([]Token, error) {
	accounts, err := c.Kube.CoreV1().ServiceAccounts(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("listing the ServiceAccounts: %w", err)
	}
	tokens := []Token{}
	for i := range accounts.Items {
		a := &accounts.Items[i]
		if isMade(a) && (name == "" || a.Name == name) {
			t := Token{Namespace: a.Namespace, Name: a.Name, ClusterID: a.Annotations[v1alpha1.ClusterIDAnnotation]}
			if networks := a.Annotations[v1alpha1.NetworksAnnotation]; networks != "" {
				t.Networks = strings.Split(networks, ",")
			}
			tokens = append(tokens, t)
		}
	}
	if name != "" && len(tokens) == 0 {
		return nil, fmt.Errorf("there is no member token %q that antctl has made", name)
	}
	return tokens, nil
}
