package verify

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

func dns() rule {
	return rule{
		id: "dns", title: "CoreDNS is ready", watches: []kind{services, endpointSlices}, in: metav1.NamespaceSystem,
		judge: func(v view) []Finding {
			const service = metav1.NamespaceSystem + "/kube-dns"
			saw := v.serviceProblem(service)
			if saw == "" {
				return nil
			}
			return []Finding{{
				Object: "Service " + service, Saw: saw, Want: "a ready CoreDNS pod",
				Fix: "kubectl -n kube-system get deployment coredns; kubectl -n kube-system get pods -l k8s-app=kube-dns",
			}}
		},
	}
}
