package kubeadm

import "airgap.dev/airgap/kubeadm/node"

func controllerManagerControls() []Control {
	return []Control{
		{ID: "1.3.1", Part: node.ControllerManager, Name: "terminated-pod-gc-threshold", Test: Is, Want: 1000, By: ByAirgap, Why: "the default of 12500 lets ended pods fill etcd; 1000 still shows what ran"},
		{ID: "1.3.2", Part: node.ControllerManager, Name: "profiling", Test: Is, Want: false, By: ByAirgap, Why: "profiles tell about the inside of the program, and taking them costs time"},
		{ID: "1.3.3", Part: node.ControllerManager, Name: "use-service-account-credentials", Test: Is, Want: true, By: ByKubeadm, Why: "each controller may do its own work only"},
		{ID: "1.3.4", Part: node.ControllerManager, Name: "service-account-private-key-file", Test: Set, By: ByKubeadm, Why: "tokens of accounts are signed with a key of their own"},
		{ID: "1.3.5", Part: node.ControllerManager, Name: "root-ca-file", Test: Set, By: ByKubeadm, Why: "pods know the API server by it"},
		{ID: "1.3.6", Part: node.ControllerManager, Name: "feature-gates", Test: Lacks, Want: "RotateKubeletServerCertificate=false", By: ByDefault, Why: "certificates of kubelets may be renewed"},
		{ID: "1.3.7", Part: node.ControllerManager, Name: "bind-address", Test: Is, Want: "127.0.0.1", By: ByKubeadm, Why: "only the host itself asks it"},
		{ID: "-", Part: node.ControllerManager, Name: "tls-cipher-suites", Test: Is, Want: fipsSuites(), By: ByAirgap, Why: whySuites},
		{ID: "-", Part: node.ControllerManager, Name: "tls-min-version", Test: Is, Want: "VersionTLS12", By: ByAirgap, Why: whyTLS},
	}
}

func schedulerControls() []Control {
	return []Control{
		{ID: "1.4.1", Part: node.Scheduler, Name: "profiling", Test: Is, Want: false, By: ByAirgap, Why: "profiles tell about the inside of the program, and taking them costs time"},
		{ID: "1.4.2", Part: node.Scheduler, Name: "bind-address", Test: Is, Want: "127.0.0.1", By: ByKubeadm, Why: "only the host itself asks it"},
		{ID: "-", Part: node.Scheduler, Name: "tls-cipher-suites", Test: Is, Want: fipsSuites(), By: ByAirgap, Why: whySuites},
		{ID: "-", Part: node.Scheduler, Name: "tls-min-version", Test: Is, Want: "VersionTLS12", By: ByAirgap, Why: whyTLS},
	}
}

func etcdControls() []Control {
	return []Control{
		{ID: "2.1", Part: node.Etcd, Name: "cert-file", Test: Set, By: ByKubeadm, Why: "clients know whom they ask"},
		{ID: "2.2", Part: node.Etcd, Name: "client-cert-auth", Test: Is, Want: true, By: ByKubeadm, Why: "who can ask etcd can read everything"},
		{ID: "2.3", Part: node.Etcd, Name: "auto-tls", Test: Default, Want: false, By: ByDefault, Why: "a certificate that nobody signed proves nothing"},
		{ID: "2.4", Part: node.Etcd, Name: "peer-cert-file", Test: Set, By: ByKubeadm, Why: "members know each other"},
		{ID: "2.5", Part: node.Etcd, Name: "peer-client-cert-auth", Test: Is, Want: true, By: ByKubeadm, Why: "nobody else becomes a member"},
		{ID: "2.6", Part: node.Etcd, Name: "peer-auto-tls", Test: Default, Want: false, By: ByDefault, Why: "a certificate that nobody signed proves nothing"},
		{ID: "2.7", Part: node.Etcd, Name: "trusted-ca-file", Test: Is, Want: "/etc/kubernetes/pki/etcd/ca.crt", By: ByKubeadm, Why: "a CA of its own: a client of the cluster is none of etcd"},
		{ID: "-", Part: node.Etcd, Name: "listen-metrics-urls", Test: Default, Want: "http://127.0.0.1:2381", By: ByKubeadm, Why: "they are served without asking who it is: to the host alone"},
		{ID: "-", Part: node.Etcd, Name: "config-file", Test: Unset, By: ByDefault, Why: "etcd would ignore every other argument"},
		{ID: "-", Part: node.Etcd, Name: "cipher-suites", Test: Is, Want: fipsSuites(), By: ByAirgap, Why: whySuites},
		{ID: "-", Part: node.Etcd, Name: "tls-min-version", Test: Is, Want: "TLS1.2", By: ByAirgap, Why: whyTLS},
	}
}

func kubeletControls() []Control {
	return []Control{
		{ID: "4.2.1", Part: node.Kubelet, Name: "authentication.anonymous.enabled", Test: Is, Want: false, By: ByKubeadm, Why: "who asks a kubelet can run commands in its pods"},
		{ID: "4.2.2", Part: node.Kubelet, Name: "authorization.mode", Test: Is, Want: "Webhook", By: ByKubeadm, Why: "the API server decides who may"},
		{ID: "4.2.3", Part: node.Kubelet, Name: "authentication.x509.clientCAFile", Test: Set, By: ByKubeadm, Why: "the API server is known by the cluster's CA"},
		{ID: "4.2.4", Part: node.Kubelet, Name: "readOnlyPort", Test: Default, Want: 0, By: ByDefault, Why: "no port that tells everybody about the pods"},
		{ID: "4.2.5", Part: node.Kubelet, Name: "streamingConnectionIdleTimeout", Test: Is, Want: "5m0s", By: ByAirgap, Why: "a shell in a pod that somebody forgot ends after 5 minutes, not after 4 hours"},
		{ID: "4.2.6", Part: node.Kubelet, Name: "makeIPTablesUtilChains", Test: Default, Want: true, By: ByDefault, Why: "pod traffic finds its rules"},
		{ID: "4.2.10", Part: node.Kubelet, Name: "rotateCertificates", Test: Is, Want: true, By: ByKubeadm, Why: "the kubelet's certificate for the API server is renewed before it ends"},
		{ID: "4.2.12", Part: node.Kubelet, Name: "tlsCipherSuites", Test: Is, Want: fipsSuites(), By: ByAirgap, Why: whySuites},
		{ID: "-", Part: node.Kubelet, Name: "tlsMinVersion", Test: Is, Want: "VersionTLS12", By: ByAirgap, Why: whyTLS},
		{ID: "4.2.13", Part: node.Kubelet, Name: "podPidsLimit", Test: Is, Want: 4096, By: ByAirgap, Why: "a pod that forks without end takes itself down, not its node"},
		{ID: "4.2.14", Part: node.Kubelet, Name: "seccompDefault", Test: Is, Want: true, By: ByAirgap, Why: "pods that say nothing get the runtime's filter instead of every system call"},
		{ID: "-", Part: node.Kubelet, Name: "protectKernelDefaults", Test: Is, Want: true, By: ByAirgap, Why: "the kubelet does not change kernel parameters behind the host's back: airgap sets them, and reset puts them back"},
	}
}
