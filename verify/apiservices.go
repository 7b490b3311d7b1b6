package verify

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func apiServicesAnswer(judged func(namespace string) bool) rule {
	return rule{
		id: "api-services", title: "Every APIService answers", watches: []kind{apiServices},
		judge: func(v view) []Finding {
			var findings []Finding
			for _, s := range all[*keptAPIService](v, apiServices) {
				namespace, _, ours := strings.Cut(s.service, "/")
				if !ours || !judged(namespace) || s.available == metav1.ConditionTrue {
					continue
				}
				findings = append(findings, Finding{
					Object: s.title("APIService"), Saw: "not available: " + s.reason, Want: "Service " + s.service + " answers",
					Fix: "mend Service " + s.service + ", or kubectl delete apiservice " + s.name + "; until then namespaces cannot be deleted",
				})
			}
			return findings
		},
	}
}
