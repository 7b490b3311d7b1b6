package verify

import (
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/client-go/tools/cache"
)

// keptService shows that a Service exists.
type keptService struct{ objectMeta }

// keptSlice has the number of ready endpoints of a Service.
type keptSlice struct {
	objectMeta

	service string // in the slice's namespace
	ready   int
}

func keepSlice(o *discoveryv1.EndpointSlice) *keptSlice {
	kept := &keptSlice{objectMeta: metaOf(o.ObjectMeta), service: once(o.Labels[discoveryv1.LabelServiceName])}
	for _, e := range o.Endpoints {
		if e.Conditions.Ready == nil || *e.Conditions.Ready { // nil means true
			kept.ready++
		}
	}
	return kept
}

// byService is the index of EndpointSlices by NAMESPACE/NAME of their Service.
const byService = "service"

func sliceIndexers() cache.Indexers {
	return cache.Indexers{byService: indexed(func(s *keptSlice) []string { return []string{s.namespace + "/" + s.service} })}
}

// serviceProblem returns why a Service does not answer, or "".
func (v view) serviceProblem(service string) string {
	if service == "" {
		return ""
	}
	namespace, name, _ := cache.SplitMetaNamespaceKey(service)
	if get[*keptService](v, services, namespace, name) == nil {
		return "Service " + service + " does not exist"
	}
	for _, s := range by[*keptSlice](v, endpointSlices, byService, service) {
		if s.ready > 0 {
			return ""
		}
	}
	return "Service " + service + " has no ready pod"
}
