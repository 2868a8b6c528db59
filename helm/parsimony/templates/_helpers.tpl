{{/* Names, labels, images, accounts: what objects have in common. */}}

{{- define "parsimony.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 40 | trimSuffix "-" }}
{{- end }}

{{/* At most 28 characters: KubeRay takes 47 for a RayJob, and `-nightly-2026-12-01` is put after it. A longer one is told apart
by a digest. */}}
{{- define "parsimony.fullname" -}}
{{- $name := include "parsimony.name" . }}
{{- $full := .Values.fullnameOverride | default (ternary .Release.Name (printf "%s-%s" .Release.Name $name) (contains $name .Release.Name)) }}
{{- if gt (len $full) 28 }}
{{- printf "%s-%s" ($full | trunc 21 | trimSuffix "-") ($full | sha256sum | trunc 6) }}
{{- else }}
{{- $full }}
{{- end }}
{{- end }}

{{/* What selects pods: never changes between versions. Takes a dict of `root` and `role`. */}}
{{- define "parsimony.selector" -}}
parsimony.dev/release: {{ .root.Release.Name | quote }}
parsimony.dev/role: {{ .role }}
{{- end }}

{{/* Labels of an object. Takes a dict of `root` and `role`. */}}
{{- define "parsimony.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version | replace "+" "_" }}
app.kubernetes.io/name: {{ include "parsimony.name" .root }}
app.kubernetes.io/instance: {{ .root.Release.Name | quote }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/component: {{ .role }}
app.kubernetes.io/part-of: parsimony
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
{{ include "parsimony.selector" . }}
{{- end }}

{{- define "parsimony.image" -}}
{{- if .Values.image.digest -}}
{{ .Values.image.repository }}@{{ .Values.image.digest }}
{{- else -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end -}}
{{- end }}

{{- define "parsimony.account" -}}
{{- .Values.serviceAccount.name | default (printf "%s-grader" (include "parsimony.fullname" .)) }}
{{- end }}

{{- define "parsimony.starterAccount" -}}
{{- .Values.serviceAccount.starterName | default (printf "%s-starter" (include "parsimony.fullname" .)) }}
{{- end }}

{{- define "parsimony.claim" -}}
{{- .Values.persistence.existingClaim | default (printf "%s-data" (include "parsimony.fullname" .)) }}
{{- end }}

{{- define "parsimony.tokenSecret" -}}
{{- .Values.ray.tokenSecretName | default (printf "%s-ray-token" (include "parsimony.fullname" .)) }}
{{- end }}

{{/* The profile `restricted`, for a pod and for a container. */}}
{{- define "parsimony.podSecurity" -}}
runAsNonRoot: true
runAsUser: 10001
runAsGroup: 10001
fsGroup: 10001
fsGroupChangePolicy: OnRootMismatch
seccompProfile:
  type: RuntimeDefault
{{- end }}

{{- define "parsimony.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
runAsNonRoot: true
capabilities:
  drop: [ALL]
{{- end }}

{{- define "parsimony.pullSecrets" -}}
{{- with .Values.imagePullSecrets }}
imagePullSecrets:
  {{- range . }}
  - name: {{ . }}
  {{- end }}
{{- end }}
{{- end }}

{{/* What is refused however it is written. Included once, by every rendering. */}}
{{- define "parsimony.refuse" -}}
{{- range $what, $text := dict "sweep.config" (toJson .Values.sweep.config) "nightly.sweep" (toJson .Values.nightly.sweep) "env" (toJson .Values.env) "volumes.extra" (toJson .Values.volumes.extra) -}}
{{- if regexMatch "(/var)?/run/docker\\.sock|hostPath" $text -}}
{{- fail (printf "%s: the Docker Engine of a node is not for pods: who has its socket is root on the node. Use `sandbox: {kind: kubernetes}`, or engineSidecar (docs/kubernetes-sandbox.md)" $what) -}}
{{- end -}}
{{- end -}}
{{- if and .Values.autoscaling.enabled (gt (int .Values.workers.minReplicas) (int .Values.workers.maxReplicas)) -}}
{{- fail "workers: minReplicas is more than maxReplicas" -}}
{{- end -}}
{{- if and .Values.sweep.enabled (not .Values.sweep.config) (not .Values.nightly.enabled) -}}
{{- fail "sweep.config is empty: give the sweep file as a map (helm/parsimony/ci has examples), or set sweep.enabled to false" -}}
{{- end -}}
{{- if and .Values.nightly.enabled (or (not .Values.nightly.config) (not .Values.nightly.sweep)) -}}
{{- fail "nightly.config and nightly.sweep are needed where nightly.enabled is true; helm/parsimony/ci/nightly-values.yaml is an example" -}}
{{- end -}}
{{- end }}
