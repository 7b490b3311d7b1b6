package nvml_test

import (
	"fmt"
	"strings"

	"airgap.dev/airgap/gpu/nvml"
)

// Reports from nvidia-smi -q -x have the same faults as those from the helper.
func Example() {
	report, err := nvml.ReadSMI(strings.NewReader(`<nvidia_smi_log>
		<driver_version>580.82.07</driver_version>
		<attached_gpus>1</attached_gpus>
		<gpu id="00000000:17:00.0">
			<remapped_rows>
				<remapped_row_corr>0</remapped_row_corr><remapped_row_unc>1</remapped_row_unc>
				<remapped_row_pending>Yes</remapped_row_pending><remapped_row_failure>No</remapped_row_failure>
			</remapped_rows>
		</gpu>
	</nvidia_smi_log>`))
	fmt.Println(err, report.Faults())
	// Output: <nil> [GPU 0 (0000:17:00.0): memory rows are waiting for remapping until the GPU is reset]
}
