package settings

import (
	"testing"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

func TestHostSettings(t *testing.T) {
	var h HostSettings
	h.Default()
	if want := (HostSettings{Firewalld: OpenFirewalld, Swap: RefuseSwap, TunnelChecksum: OffloadChecksum}); h != want {
		t.Errorf("defaults are %+v, want %+v", h, want)
	}
	if errs := h.Validate(field.NewPath("hostSettings")); len(errs) > 0 {
		t.Error(errs)
	}
	errs := HostSettings{Firewalld: "closed", Swap: "off", TunnelChecksum: "cpu"}.Validate(field.NewPath("hostSettings"))
	if len(errs) != 3 || errs[2].Field != "hostSettings.tunnelChecksum" || errs[0].Field != "hostSettings.firewalld" || errs[1].Field != "hostSettings.swap" {
		t.Errorf("got %v", errs)
	}
}
