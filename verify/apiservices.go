package verify

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func apiServicesAnswer(judged func(namespace string) bool) rule {
	return rule{
		id: "api-services", title: "APIServices are available", watches: []kind{apiServices},
		judge: func(v view) []Finding { return judgeAPIServices(v.servedElsewhere(judged)) },
		expects: func(v view) expectation {
			if len(v.servedElsewhere(judged)) > 0 {
				return expectation{}
			}
			return expectation{nothing: "no APIService refers to a Service in the checked namespaces"}
		},
	}
}

// servedElsewhere returns the APIServices that a Service in a checked namespace answers, not
// the API server itself.
func (v view) servedElsewhere(judged func(namespace string) bool) []*keptAPIService {
	return slices.DeleteFunc(all[*keptAPIService](v, apiServices), func(s *keptAPIService) bool {
		namespace, _, is := strings.Cut(s.service, "/")
		return !is || !judged(namespace)
	})
}

func judgeAPIServices(all []*keptAPIService) []Finding {
	var findings []Finding
	for _, s := range all {
		if s.available == metav1.ConditionTrue {
			continue
		}
		findings = append(findings, Finding{
			Object: s.title("APIService"), Saw: "not available: " + s.reason, Want: "Service " + s.service + " answers",
			Fix: "repair Service " + s.service + ", or, if it is no longer needed: kubectl delete apiservice " + s.name + "; until then no namespace can be deleted",
		})
	}
	return findings
}
