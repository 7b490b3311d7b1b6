package kubeadm

import "airgap.dev/airgap/kubeadm/encryption"

// Names of the Contents controls: the argument with the file, and the part of the file.
const (
	anonymousContents  = "authentication-config: anonymous"
	issuerContents     = "authentication-config: jwt"
	encryptionContents = "encryption-provider-config: secrets"
	policyContents     = "audit-policy-file: rules"
)

// contentControls check the content of the files in the API server's arguments.
func contentControls(c Config) []Control {
	controls := []Control{
		{ID: "1.2.1", Part: Contents, Name: anonymousContents, Test: Says, Want: "probes and cluster-info only", By: ByAirgap, Why: "requests without credentials reach no other path"},
		{ID: "-", Part: Contents, Name: issuerContents, Test: Says, Want: "the issuers of airgap.yaml", By: ByAirgap, Setting: "kubernetes.authentication.jwt", Why: "any other issuer could admit users"},
	}
	if c.EncryptionAtRest != encryption.NoEncryption {
		controls = append(controls, Control{ID: "1.2.28", Part: Contents, Name: encryptionContents, Test: Says, Want: "a first provider that encrypts", By: ByAirgap, Setting: "kubernetes.encryptionAtRest", Why: "the API server writes with the first provider: with identity, Secrets are plain text in etcd"})
	}
	if c.Audit.Log != NoAudit {
		controls = append(controls, Control{ID: "3.2.1, 3.2.2", Part: Contents, Name: policyContents, Test: Says, Want: "airgap's policy", By: ByAirgap, Setting: "kubernetes.audit.policy", Why: "an earlier rule can hide actions from the log"})
	}
	return controls
}
