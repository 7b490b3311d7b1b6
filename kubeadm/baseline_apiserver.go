package kubeadm

import (
	"strconv"

	"airgap.dev/airgap/kubeadm/encryption"
	"airgap.dev/airgap/kubeadm/node"
)

func apiServerControls(c Config) []Control {
	controls := []Control{
		{ID: "1.2.1", Part: node.APIServer, Name: "anonymous-auth", Test: Unset, By: ByDefault, Why: "the flag applies to every path; authentication-config applies to single paths"},
		{ID: "1.2.2", Part: node.APIServer, Name: "token-auth-file", Test: Unset, By: ByDefault, Why: "tokens in a file never expire"},
		{ID: "1.2.4", Part: node.APIServer, Name: "kubelet-client-certificate", Test: Set, By: ByKubeadm, Why: "kubelets can identify the API server"},
		{ID: "1.2.6-1.2.8", Part: node.APIServer, Name: "authorization-mode", Test: Is, Want: "Node,RBAC", By: ByKubeadm, Why: "a node can read only the objects that its pods need; all other users need a role"},
		{ID: "1.2.10, 1.2.14", Part: node.APIServer, Name: "enable-admission-plugins", Test: Includes, Want: "NodeRestriction", By: ByKubeadm, Why: "a node can change only itself and its own pods"},
		{ID: "1.2.12, 1.2.13", Part: node.APIServer, Name: "disable-admission-plugins", Test: Unset, By: ByDefault, Why: "ServiceAccount and NamespaceLifecycle stay on"},
		{ID: "1.2.15", Part: node.APIServer, Name: "profiling", Test: Is, Want: false, By: ByAirgap, Why: "profiles show internals of the program, and taking them costs CPU time"},
		{ID: "1.2.21", Part: node.APIServer, Name: "service-account-lookup", Test: Default, Want: true, By: ByDefault, Why: "the token of a deleted account is no longer valid"},
		{ID: "1.2.22", Part: node.APIServer, Name: "service-account-key-file", Test: Set, By: ByKubeadm, Why: "a separate key verifies the tokens of service accounts"},
		{ID: "1.2.23", Part: node.APIServer, Name: "etcd-certfile", Test: Set, By: ByKubeadm, Why: "etcd answers only clients with a certificate"},
		{ID: "1.2.24", Part: node.APIServer, Name: "tls-cert-file", Test: Set, By: ByKubeadm, Why: "clients can identify the API server"},
		{ID: "1.2.25", Part: node.APIServer, Name: "client-ca-file", Test: Set, By: ByKubeadm, Why: "the cluster's CA verifies the certificates of clients"},
		{ID: "1.2.26", Part: node.APIServer, Name: "etcd-cafile", Test: Set, By: ByKubeadm, Why: "the API server sends its data only to the cluster's etcd"},
		{ID: "1.2.29", Part: node.APIServer, Name: "tls-cipher-suites", Test: Is, Want: fipsSuites(), By: ByAirgap, Why: whySuites},
		{ID: "1.2.29", Part: node.APIServer, Name: "tls-min-version", Test: Is, Want: "VersionTLS12", By: ByAirgap, Why: whyTLS},
		{ID: "1.2.30", Part: node.APIServer, Name: "service-account-extend-token-expiration", Test: Is, Want: false, By: ByAirgap, Why: "otherwise a pod's token is valid for a year instead of an hour"},
	}
	if !c.ownAuthentication() {
		controls = append(controls, Control{ID: "1.2.1", Part: node.APIServer, Name: "authentication-config", Test: Is, Want: authenticationFile, By: ByAirgap, Why: "requests without credentials reach only the probes and the ConfigMap with the CA for a joining host; without that exception no host could join with a token"})
	}
	return append(append(controls, encryptionControls(c)...), auditControls(c)...)
}

func encryptionControls(c Config) []Control {
	if c.EncryptionAtRest == encryption.NoEncryption {
		return nil
	}
	const setting = "kubernetes.encryptionAtRest"
	return []Control{
		{ID: "1.2.27, 1.2.28", Part: node.APIServer, Name: "encryption-provider-config", Test: Is, Want: encryption.EncryptionFile, By: ByAirgap, Setting: setting, Why: "Secrets are unreadable in etcd's files, in its backups and on a discarded disk"},
		{ID: "-", Part: node.APIServer, Name: "encryption-provider-config-automatic-reload", Test: Is, Want: true, By: ByAirgap, Setting: setting, Why: "a key rotation needs no restart"},
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
		flag("1.2.16", "audit-log-path", auditLog, "log", "the log shows the actions of each user"),
		flag("3.2.1, 3.2.2", "audit-policy-file", auditPolicyFile, "policy", "logs each read of a Secret and each change, except leases, events and the status reports of nodes; it never logs the content of Secrets"),
		flag("1.2.17", "audit-log-maxage", strconv.Itoa(c.Audit.MaxAge), "maxAge", "days to keep a log file"),
		flag("1.2.18", "audit-log-maxbackup", strconv.Itoa(c.Audit.MaxBackups), "maxBackups", "number of old log files, which limits the log's size"),
		flag("1.2.19", "audit-log-maxsize", strconv.Itoa(c.Audit.MaxSize), "maxSize", "size of each log file in megabytes"),
	}
}
