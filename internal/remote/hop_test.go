package remote

import (
	"fmt"
	"strings"
	"testing"
)

func TestParseHops(t *testing.T) {
	for text, want := range map[string]string{
		"bastion": "[{ bastion 0}]", "ops@bastion.bank:2222": "[{ops bastion.bank 2222}]", "10.0.0.1:22": "[{ 10.0.0.1 22}]",
		"[fd00::1]:22": "[{ fd00::1 22}]", "vault@root@10.0.0.5@psmp.bank": "[{vault@root@10.0.0.5 psmp.bank 0}]", "a,ops@b": "[{ a 0} {ops b 0}]", "none": "[]", "": "want [USER@]HOST[:PORT]",
		"ops@": "want [USER@]HOST[:PORT]", "@bastion": "want [USER@]HOST[:PORT]", "bastion:0": `port "0" is no number`, "bastion:ssh": `port "ssh" is no number`,
		"ssh://bastion": "want [USER@]HOST", "bastion -oProxyCommand=x": "want [USER@]HOST", "-oProxyCommand": "want [USER@]HOST", "a,none": `"none": want`, "a,b,a": `"a" is in the list twice`,
		"1,2,3,4,5,6,7,8,9": "more than 8 jump hosts in a row",
	} {
		hops, err := ParseHops(strings.Split(text, ","))
		if got := fmt.Sprint(hops); err == nil && got != want || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %s, %v, want %s", text, got, err, want)
		}
	}
}
