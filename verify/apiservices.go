package verify

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func apiServicesAnswer(judged func(namespace string) bool) rule {
	return rule{
		id: "api-services", title: "Every APIService answers", watches: []kind{apiServices},
		judge: func(v view) []Finding { return judgeAPIServices(v.servedElsewhere(judged)) },
		expects: func(v view) expectation {
			if len(v.servedElsewhere(judged)) > 0 {
				return expectation{}
			}
			return expectation{nothing: "no APIService leads to a Service of the namespaces that are judged"}
		},
	}
}

// servedElsewhere are the APIServices for which not the API server itself answers, but a
// Service in a namespace that is judged.
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
			Fix: "mend Service " + s.service + ", or kubectl delete apiservice " + s.name + "; until then namespaces cannot be deleted",
		})
	}
	return findings
}
