package kubeadm

import (
	"context"
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"

	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/step"
	"airgap.dev/airgap/kubeadm/encryption"
	"airgap.dev/airgap/kubeadm/leave"
	"airgap.dev/airgap/kubeadm/node"
)

const auditPolicyFile = node.APIServerDir + "/audit-policy.yaml"

// BeforeControlPlane returns the steps of a control-plane host before kubeadm. given reads
// the encryption keys of the existing hosts; nil creates new keys.
func BeforeControlPlane(m Machine, c Config, given func(context.Context) ([]byte, error)) []step.Step {
	steps := []step.Step{APIServerFiles(m, c)}
	if c.EncryptionAtRest != encryption.NoEncryption {
		steps = append(steps, encryption.Encryption(m.Machine, c.EncryptionAtRest, given))
	}
	return steps
}

// APIServerFiles writes the files that the API server reads when it starts, in addition to its
// certificates and keys: the rules for requests without credentials, and the audit policy.
func APIServerFiles(m Machine, c Config) step.Step {
	return step.Step{
		Name: "apiserver-files", Title: "Write audit policy and rules for the API server",
		Done: func(context.Context) (bool, error) { return m.apiServerFilesHold(c) },
		Plan: func(context.Context) ([]string, error) { return m.planAPIServerFiles(c) },
		Run:  func(context.Context) error { return m.writeAPIServerFiles(c) },
		Undo: func(context.Context) error {
			return node.RemoveFrom(m.Machine, node.APIServerDir, auditPolicyFile, authenticationFile)
		},
	}
}

func apiServerFiles(c Config) (map[string][]byte, error) {
	rules, err := c.Authentication.file()
	files := map[string][]byte{authenticationFile: rules}
	if c.Audit.Log == NoAudit || err != nil {
		return files, err
	}
	files[auditPolicyFile], err = c.Audit.policy()
	return files, err
}

func (m Machine) apiServerFilesHold(c Config) (bool, error) {
	files, err := apiServerFiles(c)
	if err != nil {
		return false, err
	}
	for name, text := range files {
		if holds, err := host.FileMatches(m.Path(name), text, 0o600); err != nil || !holds {
			return false, err
		}
	}
	for _, dir := range privateDirs(c) {
		if private, err := node.PrivateDir(m.Machine, dir); err != nil || !private {
			return false, err
		}
	}
	return true, nil
}

func (m Machine) planAPIServerFiles(c Config) ([]string, error) {
	var changes []string
	for _, dir := range privateDirs(c) {
		private, err := node.PrivateDir(m.Machine, dir)
		if err != nil {
			return nil, err
		}
		if !private {
			changes = append(changes, "create "+m.Path(dir)+", readable by root only")
		}
	}
	files, err := apiServerFiles(c)
	if err != nil {
		return changes, err
	}
	at := map[string][]byte{}
	for name, text := range files {
		at[m.Path(name)] = text
	}
	written, err := host.PlanFiles(at, 0o600)
	return append(changes, written...), err
}

func (m Machine) writeAPIServerFiles(c Config) error {
	files, err := apiServerFiles(c)
	if err != nil {
		return err
	}
	for _, dir := range privateDirs(c) {
		if err := node.MakePrivateDir(m.Machine, dir); err != nil {
			return err
		}
	}
	for name, text := range files {
		if err := host.WriteFile(m.Path(name), text, 0o600); err != nil {
			return err
		}
	}
	return nil
}

func privateDirs(c Config) []string {
	if c.Audit.Log == NoAudit {
		return []string{node.APIServerDir}
	}
	return []string{node.APIServerDir, leave.AuditDir}
}

// apiServerVolumes are the directories of the host that are mounted into the API server's pod.
func apiServerVolumes(c Config) []any {
	volumes := []any{object{
		"name": "airgap", "hostPath": node.APIServerDir, "mountPath": node.APIServerDir,
		"readOnly": true, "pathType": "Directory",
	}}
	if c.Audit.Log == NoAudit {
		return volumes
	}
	return append(volumes, object{
		"name": "audit-log", "hostPath": leave.AuditDir, "mountPath": leave.AuditDir, "pathType": "Directory",
	})
}

// policyEnv changes the API server's manifest when the audit policy changes, so that it
// restarts: the API server reads the policy only when it starts.
func policyEnv(c Config) []any {
	if c.Audit.Log == NoAudit {
		return nil
	}
	policy, err := c.Audit.policy()
	if err != nil {
		return nil // APIServerFiles reports it
	}
	return []any{object{"name": "AIRGAP_AUDIT_POLICY", "value": fmt.Sprintf("%.8x", sha256.Sum256(policy))}}
}

// ownAuthentication reports whether the bundle has arguments that the API server refuses
// together with authenticationFile. Older versions of airgap accepted them.
func (c Config) ownAuthentication() bool {
	return slices.ContainsFunc(c.extraArgs(node.APIServer), func(a argument) bool {
		return a.name == "anonymous-auth" || strings.HasPrefix(a.name, "oidc-")
	})
}
