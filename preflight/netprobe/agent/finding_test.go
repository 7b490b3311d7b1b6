package agent

import (
	"errors"
	"os"
	"testing"
)

// TestUSBCards: the USB network card of a management controller has the same address in all servers.
func TestUSBCards(t *testing.T) {
	for bus, by := range map[string]bool{"usb": true, "pci": false, "virtio": false} {
		card := t.TempDir()
		if err := errors.Join(os.Mkdir(card+"/device", 0o755), os.Symlink("../../../../bus/"+bus, card+"/device/subsystem")); err != nil {
			t.Fatal(err)
		}
		if onUSB(card) != by {
			t.Errorf("%s: on USB %t", bus, !by)
		}
	}
	if onUSB(t.TempDir()) {
		t.Error("a bridge is on USB")
	}
}
