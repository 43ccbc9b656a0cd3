module github.com/antrea-oncache/antrea/hack/networkpolicyapi/admin

go 1.26.0

require sigs.k8s.io/network-policy-api v0.1.7

require (
	k8s.io/apimachinery v0.37.2 // indirect
	k8s.io/client-go v0.37.2 // indirect
	sigs.k8s.io/controller-runtime v0.24.1 // indirect
	sigs.k8s.io/yaml v1.6.0 // indirect
)
