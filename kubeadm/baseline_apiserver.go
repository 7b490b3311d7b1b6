package kubeadm

import (
	"strconv"

	"airgap.dev/airgap/kubeadm/encryption"
	"airgap.dev/airgap/kubeadm/node"
)

func apiServerControls(c Config) []Control {
	controls := []Control{
		{ID: "1.2.1", Part: node.APIServer, Name: "anonymous-auth", Test: Unset, By: ByDefault, Why: "it decides for every path at once; authentication-config decides for each"},
		{ID: "1.2.2", Part: node.APIServer, Name: "token-auth-file", Test: Unset, By: ByDefault, Why: "tokens in a file never end"},
		{ID: "1.2.4", Part: node.APIServer, Name: "kubelet-client-certificate", Test: Set, By: ByKubeadm, Why: "kubelets know who asks them"},
		{ID: "1.2.6-1.2.8", Part: node.APIServer, Name: "authorization-mode", Test: Is, Want: "Node,RBAC", By: ByKubeadm, Why: "a node sees what its own pods need, everybody else what a role gives them"},
		{ID: "1.2.10, 1.2.14", Part: node.APIServer, Name: "enable-admission-plugins", Test: Includes, Want: "NodeRestriction", By: ByKubeadm, Why: "a node changes itself and its own pods only"},
		{ID: "1.2.12, 1.2.13", Part: node.APIServer, Name: "disable-admission-plugins", Test: Unset, By: ByDefault, Why: "ServiceAccount and NamespaceLifecycle stay on"},
		{ID: "1.2.15", Part: node.APIServer, Name: "profiling", Test: Is, Want: false, By: ByAirgap, Why: "profiles tell about the inside of the program, and taking them costs time"},
		{ID: "1.2.21", Part: node.APIServer, Name: "service-account-lookup", Test: Default, Want: true, By: ByDefault, Why: "the token of a deleted account is no longer good"},
		{ID: "1.2.22", Part: node.APIServer, Name: "service-account-key-file", Test: Set, By: ByKubeadm, Why: "tokens of accounts are checked with a key of their own"},
		{ID: "1.2.23", Part: node.APIServer, Name: "etcd-certfile", Test: Set, By: ByKubeadm, Why: "etcd answers those with a certificate only"},
		{ID: "1.2.24", Part: node.APIServer, Name: "tls-cert-file", Test: Set, By: ByKubeadm, Why: "clients know whom they ask"},
		{ID: "1.2.25", Part: node.APIServer, Name: "client-ca-file", Test: Set, By: ByKubeadm, Why: "clients with certificates are known by the cluster's CA"},
		{ID: "1.2.26", Part: node.APIServer, Name: "etcd-cafile", Test: Set, By: ByKubeadm, Why: "the API server knows whom it gives its data"},
		{ID: "1.2.29", Part: node.APIServer, Name: "tls-cipher-suites", Test: Is, Want: fipsSuites(), By: ByAirgap, Why: whySuites},
		{ID: "1.2.29", Part: node.APIServer, Name: "tls-min-version", Test: Is, Want: "VersionTLS12", By: ByAirgap, Why: whyTLS},
		{ID: "1.2.30", Part: node.APIServer, Name: "service-account-extend-token-expiration", Test: Is, Want: false, By: ByAirgap, Why: "else a pod's token is good for a year instead of an hour"},
	}
	if !c.ownAuthentication() {
		controls = append(controls, Control{ID: "1.2.1", Part: node.APIServer, Name: "authentication-config", Test: Is, Want: authenticationFile, By: ByAirgap, Why: "without credentials only probes are answered, and the ConfigMap from which a joining host learns the CA; closed altogether, no host could join by a code"})
	}
	return append(append(controls, encryptionControls(c)...), auditControls(c)...)
}

func encryptionControls(c Config) []Control {
	if c.EncryptionAtRest == encryption.NoEncryption {
		return nil
	}
	const setting = "kubernetes.encryptionAtRest"
	return []Control{
		{ID: "1.2.27, 1.2.28", Part: node.APIServer, Name: "encryption-provider-config", Test: Is, Want: encryption.EncryptionFile, By: ByAirgap, Setting: setting, Why: "Secrets are not to be read in etcd's files, its backups or a disk that was thrown away"},
		{ID: "-", Part: node.APIServer, Name: "encryption-provider-config-automatic-reload", Test: Is, Want: true, By: ByAirgap, Setting: setting, Why: "a key is rotated without a restart"},
	}
}

func auditControls(c Config) []Control {
	if c.Audit.Log == NoAudit {
		return nil
	}
	flag := func(id, name, value, setting, why string) Control {
		return Control{ID: id, Part: node.APIServer, Name: name, Test: Is, Want: value, By: ByAirgap, Setting: "kubernetes.audit." + setting, Why: why}
	}
	return []Control{
		flag("1.2.16", "audit-log-path", auditLog, "log", "who did what, for the day on which somebody asks"),
		flag("3.2.1, 3.2.2", "audit-policy-file", auditPolicyFile, "policy", "what is noted: every reader of Secrets, and every change but leases, events and what nodes report of themselves and their pods; never what Secrets hold"),
		flag("1.2.17", "audit-log-maxage", strconv.Itoa(c.Audit.MaxAge), "maxAge", "days for which the log is kept"),
		flag("1.2.18", "audit-log-maxbackup", strconv.Itoa(c.Audit.MaxBackups), "maxBackups", "the log has an end: so many old files"),
		flag("1.2.19", "audit-log-maxsize", strconv.Itoa(c.Audit.MaxSize), "maxSize", "each of so many megabytes"),
	}
}
