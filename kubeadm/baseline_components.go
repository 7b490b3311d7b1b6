package kubeadm

import "airgap.dev/airgap/kubeadm/node"

func controllerManagerControls() []Control {
	return []Control{
		{ID: "1.3.1", Part: node.ControllerManager, Name: "terminated-pod-gc-threshold", Test: Is, Want: 1000, By: ByAirgap, Why: "with the default of 12500, terminated pods can fill etcd; 1000 are enough to see recent pods"},
		{ID: "1.3.2", Part: node.ControllerManager, Name: "profiling", Test: Is, Want: false, By: ByAirgap, Why: "profiles show internals of the program, and taking them costs CPU time"},
		{ID: "1.3.3", Part: node.ControllerManager, Name: "use-service-account-credentials", Test: Is, Want: true, By: ByKubeadm, Why: "each controller has only the rights that it needs"},
		{ID: "1.3.4", Part: node.ControllerManager, Name: "service-account-private-key-file", Test: Set, By: ByKubeadm, Why: "a separate key signs the tokens of service accounts"},
		{ID: "1.3.5", Part: node.ControllerManager, Name: "root-ca-file", Test: Set, By: ByKubeadm, Why: "pods use this CA to identify the API server"},
		{ID: "1.3.6", Part: node.ControllerManager, Name: "feature-gates", Test: Lacks, Want: "RotateKubeletServerCertificate=false", By: ByDefault, Why: "kubelets can renew their certificates"},
		{ID: "1.3.7", Part: node.ControllerManager, Name: "bind-address", Test: Is, Want: "127.0.0.1", By: ByKubeadm, Why: "only the host itself connects to it"},
		{ID: "-", Part: node.ControllerManager, Name: "tls-cipher-suites", Test: Is, Want: fipsSuites(), By: ByAirgap, Why: whySuites},
		{ID: "-", Part: node.ControllerManager, Name: "tls-min-version", Test: Is, Want: "VersionTLS12", By: ByAirgap, Why: whyTLS},
	}
}

func schedulerControls() []Control {
	return []Control{
		{ID: "1.4.1", Part: node.Scheduler, Name: "profiling", Test: Is, Want: false, By: ByAirgap, Why: "profiles show internals of the program, and taking them costs CPU time"},
		{ID: "1.4.2", Part: node.Scheduler, Name: "bind-address", Test: Is, Want: "127.0.0.1", By: ByKubeadm, Why: "only the host itself connects to it"},
		{ID: "-", Part: node.Scheduler, Name: "tls-cipher-suites", Test: Is, Want: fipsSuites(), By: ByAirgap, Why: whySuites},
		{ID: "-", Part: node.Scheduler, Name: "tls-min-version", Test: Is, Want: "VersionTLS12", By: ByAirgap, Why: whyTLS},
	}
}

func etcdControls() []Control {
	return []Control{
		{ID: "2.1", Part: node.Etcd, Name: "cert-file", Test: Set, By: ByKubeadm, Why: "clients can identify etcd"},
		{ID: "2.2", Part: node.Etcd, Name: "client-cert-auth", Test: Is, Want: true, By: ByKubeadm, Why: "any client of etcd can read everything"},
		{ID: "2.3", Part: node.Etcd, Name: "auto-tls", Test: Default, Want: false, By: ByDefault, Why: "a self-signed certificate proves no identity"},
		{ID: "2.4", Part: node.Etcd, Name: "peer-cert-file", Test: Set, By: ByKubeadm, Why: "members can identify each other"},
		{ID: "2.5", Part: node.Etcd, Name: "peer-client-cert-auth", Test: Is, Want: true, By: ByKubeadm, Why: "no other host can become a member"},
		{ID: "2.6", Part: node.Etcd, Name: "peer-auto-tls", Test: Default, Want: false, By: ByDefault, Why: "a self-signed certificate proves no identity"},
		{ID: "2.7", Part: node.Etcd, Name: "trusted-ca-file", Test: Is, Want: "/etc/kubernetes/pki/etcd/ca.crt", By: ByKubeadm, Why: "etcd has its own CA: a client certificate of the cluster is not valid for etcd"},
		{ID: "-", Part: node.Etcd, Name: "listen-metrics-urls", Test: Default, Want: "http://127.0.0.1:2381", By: ByKubeadm, Why: "etcd serves metrics without authentication, so only to the host itself"},
		{ID: "-", Part: node.Etcd, Name: "config-file", Test: Unset, By: ByDefault, Why: "etcd would ignore every other argument"},
		{ID: "-", Part: node.Etcd, Name: "cipher-suites", Test: Is, Want: fipsSuites(), By: ByAirgap, Why: whySuites},
		{ID: "-", Part: node.Etcd, Name: "tls-min-version", Test: Is, Want: "TLS1.2", By: ByAirgap, Why: whyTLS},
	}
}

func kubeletControls() []Control {
	return []Control{
		{ID: "4.2.1", Part: node.Kubelet, Name: "authentication.anonymous.enabled", Test: Is, Want: false, By: ByKubeadm, Why: "any client of a kubelet can run commands in its pods"},
		{ID: "4.2.2", Part: node.Kubelet, Name: "authorization.mode", Test: Is, Want: "Webhook", By: ByKubeadm, Why: "the API server authorizes each request"},
		{ID: "4.2.3", Part: node.Kubelet, Name: "authentication.x509.clientCAFile", Test: Set, By: ByKubeadm, Why: "the kubelet uses the cluster's CA to identify the API server"},
		{ID: "4.2.4", Part: node.Kubelet, Name: "readOnlyPort", Test: Default, Want: 0, By: ByDefault, Why: "the port would show the pods without authentication"},
		{ID: "4.2.5", Part: node.Kubelet, Name: "streamingConnectionIdleTimeout", Test: Is, Want: "5m0s", By: ByAirgap, Why: "a forgotten shell in a pod ends after 5 minutes, not after 4 hours"},
		{ID: "4.2.6", Part: node.Kubelet, Name: "makeIPTablesUtilChains", Test: Default, Want: true, By: ByDefault, Why: "the kubelet manages the iptables chains that pod traffic needs"},
		{ID: "4.2.10", Part: node.Kubelet, Name: "rotateCertificates", Test: Is, Want: true, By: ByKubeadm, Why: "the kubelet renews its client certificate before it expires"},
		{ID: "4.2.12", Part: node.Kubelet, Name: "tlsCipherSuites", Test: Is, Want: fipsSuites(), By: ByAirgap, Why: whySuites},
		{ID: "-", Part: node.Kubelet, Name: "tlsMinVersion", Test: Is, Want: "VersionTLS12", By: ByAirgap, Why: whyTLS},
		{ID: "4.2.13", Part: node.Kubelet, Name: "podPidsLimit", Test: Is, Want: 4096, By: ByAirgap, Why: "a pod that forks without limit fails, but its node does not"},
		{ID: "4.2.14", Part: node.Kubelet, Name: "seccompDefault", Test: Is, Want: true, By: ByAirgap, Why: "pods without a seccomp profile get the runtime's default filter instead of all system calls"},
		{ID: "-", Part: node.Kubelet, Name: "protectKernelDefaults", Test: Is, Want: true, By: ByAirgap, Why: "the kubelet does not change kernel parameters: airgap sets them, and airgap reset restores them"},
	}
}
