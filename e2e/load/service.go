package load

import (
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const dnsAddress = "10.96.0.10"

// dnsService returns the Service of CoreDNS.
func dnsService() *corev1.Service {
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "kube-dns", Namespace: metav1.NamespaceSystem, UID: uid("service kube-dns"), CreationTimestamp: born()},
		Spec: corev1.ServiceSpec{
			Type: corev1.ServiceTypeClusterIP, ClusterIP: dnsAddress, ClusterIPs: []string{dnsAddress}, IPFamilies: []corev1.IPFamily{corev1.IPv4Protocol},
			Selector: map[string]string{"k8s-app": "kube-dns"}, Ports: []corev1.ServicePort{{Name: "dns", Protocol: corev1.ProtocolUDP, Port: 53}},
		},
	}
}

// dnsEndpoints returns the EndpointSlice of CoreDNS.
func dnsEndpoints() *discoveryv1.EndpointSlice {
	ready := true
	return &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{
			Name: "kube-dns-x", Namespace: metav1.NamespaceSystem, UID: uid("slice kube-dns"), CreationTimestamp: born(),
			Labels: map[string]string{discoveryv1.LabelServiceName: "kube-dns"},
		},
		AddressType: discoveryv1.AddressTypeIPv4,
		Endpoints:   []discoveryv1.Endpoint{{Addresses: []string{"10.244.0.2"}, Conditions: discoveryv1.EndpointConditions{Ready: &ready}}},
	}
}
