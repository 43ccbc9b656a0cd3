module github.com/antrea-oncache/antrea/hack/networkpolicyapi/cluster

go 1.26.6

require sigs.k8s.io/network-policy-api v0.3.0

require (
	k8s.io/apiextensions-apiserver v0.37.2 // indirect
	k8s.io/apimachinery v0.37.2 // indirect
	k8s.io/client-go v0.37.2 // indirect
)
