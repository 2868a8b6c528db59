{{/* Pods of Ray: the head, the workers and, without the operator, the driver. */}}

{{/* Environment that every process of Ray has. */}}
{{- define "parsimony.env" -}}
- name: HOME
  value: /tmp
- name: RAY_USAGE_STATS_ENABLED
  value: "0"
- name: POD_NAMESPACE
  valueFrom: {fieldRef: {fieldPath: metadata.namespace}}
{{- if eq .Values.mode "plain" }}
- name: RAY_ADDRESS
  value: {{ include "parsimony.fullname" . }}-head:6379
{{- if .Values.ray.tokenAuth }}
- name: RAY_AUTH_MODE
  value: token
- name: RAY_AUTH_TOKEN
  valueFrom: {secretKeyRef: {name: {{ include "parsimony.tokenSecret" . }}, key: auth_token}}
{{- end }}
{{- end }}
{{- range $name, $value := .Values.env }}
- name: {{ $name }}
  value: {{ $value | quote }}
{{- end }}
{{- end }}

{{/* Takes a dict of `root`, `driver` (whether the driver runs here) and `what` (sweep or nightly). */}}
{{- define "parsimony.mounts" -}}
- name: tmp
  mountPath: /tmp
{{- if eq .root.Values.mode "plain" }}
- name: shm
  mountPath: /dev/shm
{{- end }}
{{- if .driver }}
- name: data
  mountPath: /data
- name: scripts
  mountPath: /etc/parsimony/scripts
  readOnly: true
- name: {{ .what }}
  mountPath: /etc/parsimony/{{ .what }}
  readOnly: true
{{- if .root.Values.inputs.existingClaim }}
- name: inputs
  mountPath: /inputs
  readOnly: true
{{- end }}
{{- end }}
{{- range $name, $volume := .root.Values.volumes.extra }}
- name: extra-{{ $name }}
  mountPath: {{ $volume.mountPath }}
  {{- if not $volume.emptyDir }}
  readOnly: true
  {{- end }}
{{- end }}
{{- end }}

{{- define "parsimony.volumes" -}}
- name: tmp
  emptyDir: {sizeLimit: 8Gi}
{{- if eq .root.Values.mode "plain" }}
- name: shm
  emptyDir: {medium: Memory, sizeLimit: 1Gi}
{{- end }}
{{- if .driver }}
- name: data
  {{- include "parsimony.dataSource" .root | nindent 2 }}
- name: scripts
  configMap: {name: {{ include "parsimony.fullname" .root }}-scripts}
- name: {{ .what }}
  configMap: {name: {{ include "parsimony.fullname" .root }}-{{ .what }}}
{{- with .root.Values.inputs.existingClaim }}
- name: inputs
  persistentVolumeClaim: {claimName: {{ . }}, readOnly: true}
{{- end }}
{{- end }}
{{- range $name, $volume := .root.Values.volumes.extra }}
- name: extra-{{ $name }}
  {{- if $volume.configMap }}
  configMap: {name: {{ $volume.configMap }}}
  {{- else if $volume.secret }}
  secret: {secretName: {{ $volume.secret }}}
  {{- else if $volume.claim }}
  persistentVolumeClaim: {claimName: {{ $volume.claim }}, readOnly: true}
  {{- else }}
  emptyDir: {sizeLimit: {{ $volume.emptyDir }}}
  {{- end }}
{{- end }}
{{- end }}

{{- define "parsimony.dataSource" -}}
{{- if .Values.persistence.enabled -}}
persistentVolumeClaim: {claimName: {{ include "parsimony.claim" . }}}
{{- else -}}
emptyDir: {sizeLimit: {{ .Values.persistence.size }}}
{{- end -}}
{{- end }}

{{/* Where a pod goes. Takes `head` or `workers` of the values. */}}
{{- define "parsimony.placement" -}}
{{- with .nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- end }}

{{/* What pods of Ray begin with. Takes `root`, `place`: `head` or `workers` of the values. */}}
{{- define "parsimony.podStart" -}}
serviceAccountName: {{ include "parsimony.account" .root }}
automountServiceAccountToken: true
enableServiceLinks: false
{{- with include "parsimony.pullSecrets" .root }}
{{ . }}
{{- end }}
securityContext:
  {{- include "parsimony.podSecurity" .root | nindent 2 }}
{{- with include "parsimony.placement" .place | trim }}
{{ . }}
{{- end }}
{{- end }}

{{/* The container of Ray. Takes `root`, `name`, `resources`, `driver`, `what`. */}}
{{- define "parsimony.rayContainer" -}}
name: {{ .name }}
image: {{ include "parsimony.image" .root }}
imagePullPolicy: {{ .root.Values.image.pullPolicy }}
env:
  {{- include "parsimony.env" .root | nindent 2 }}
  {{- if and (eq .name "ray-worker") .root.Values.engineSidecar.enabled }}
  - name: DOCKER_HOST
    value: unix:///run/engine/engine.sock
  {{- end }}
{{- if and .driver (eq .root.Values.artifacts.kind "objectStore") .root.Values.artifacts.secretName }}
envFrom:
  - secretRef: {name: {{ .root.Values.artifacts.secretName }}}
{{- end }}
resources:
  {{- toYaml .resources | nindent 2 }}
securityContext:
  {{- include "parsimony.containerSecurity" .root | nindent 2 }}
volumeMounts:
  {{- include "parsimony.mounts" . | nindent 2 }}
  {{- if and (eq .name "ray-worker") .root.Values.engineSidecar.enabled }}
  - name: engine-socket
    mountPath: /run/engine
  {{- end }}
{{- end }}

{{/* A Docker Engine that lives as long as its worker. It is privileged, which the values had to accept in words. */}}
{{- define "parsimony.engine" -}}
- name: engine
  image: {{ .Values.engineSidecar.image }}
  restartPolicy: Always
  args: [dockerd, --host=unix:///run/engine/engine.sock, --group=10001]
  env:
    - name: DOCKER_TLS_CERTDIR
      value: ""
  resources:
    {{- toYaml .Values.engineSidecar.resources | nindent 4 }}
  securityContext:
    privileged: true
    runAsNonRoot: false
    runAsUser: 0
  startupProbe:
    exec: {command: [docker, --host=unix:///run/engine/engine.sock, info]}
    periodSeconds: 2
    failureThreshold: 60
  volumeMounts:
    - name: engine-socket
      mountPath: /run/engine
    - name: engine-storage
      mountPath: /var/lib/docker
{{- end }}

{{- define "parsimony.engineVolumes" -}}
- name: engine-socket
  emptyDir: {sizeLimit: 16Mi}
- name: engine-storage
  emptyDir: {sizeLimit: {{ .Values.engineSidecar.storage }}}
{{- end }}

{{/* The template of a head's pod on KubeRay. Takes `root` and `what`. */}}
{{- define "parsimony.headTemplate" -}}
metadata:
  labels:
    {{- include "parsimony.labels" (dict "root" .root "role" "head") | nindent 4 }}
  {{- with .root.Values.head.annotations }}
  annotations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
spec:
  {{- include "parsimony.podStart" (dict "root" .root "place" .root.Values.head) | nindent 2 }}
  restartPolicy: Never
  terminationGracePeriodSeconds: 120
  containers:
    - {{- include "parsimony.rayContainer" (dict "root" .root "name" "ray-head" "resources" .root.Values.head.resources "driver" true "what" .what) | nindent 6 }}
      ports:
        - {name: gcs-server, containerPort: 6379}
        - {name: dashboard, containerPort: 8265}
        - {name: client, containerPort: 10001}
        - {name: metrics, containerPort: 8080}
        {{- if .root.Values.metrics.enabled }}
        - {name: parsimony, containerPort: {{ .root.Values.metrics.port }}}
        {{- end }}
  volumes:
    {{- include "parsimony.volumes" (dict "root" .root "driver" true "what" .what) | nindent 4 }}
{{- end }}

{{/* The template of a worker's pod; `restart` differs between the modes. Takes `root`, `restart` and, without the operator, `args`. */}}
{{- define "parsimony.workerTemplate" -}}
metadata:
  labels:
    {{- include "parsimony.labels" (dict "root" .root "role" "worker") | nindent 4 }}
  {{- with .root.Values.workers.annotations }}
  annotations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
spec:
  {{- include "parsimony.podStart" (dict "root" .root "place" .root.Values.workers) | nindent 2 }}
  restartPolicy: {{ .restart }}
  terminationGracePeriodSeconds: {{ .root.Values.workers.terminationGracePeriodSeconds }}
  {{- if .root.Values.engineSidecar.enabled }}
  initContainers:
    {{- include "parsimony.engine" .root | nindent 4 }}
  {{- end }}
  containers:
    - {{- include "parsimony.rayContainer" (dict "root" .root "name" "ray-worker" "resources" .root.Values.workers.resources "driver" false) | nindent 6 }}
      ports:
        - {name: metrics, containerPort: 8080}
        - {name: callback, containerPort: {{ .root.Values.candidates.callbackPort }}}
      {{- with .args }}
      command: [/usr/bin/tini, -g, --]
      args:
        {{- toYaml . | nindent 8 }}
      {{- end }}
  volumes:
    {{- include "parsimony.volumes" (dict "root" .root "driver" false) | nindent 4 }}
    {{- if .root.Values.engineSidecar.enabled }}
    {{- include "parsimony.engineVolumes" .root | nindent 4 }}
    {{- end }}
{{- end }}

{{/* A quantity of CPUs as a whole number, at least 1: what Ray is told where the operator does not tell it. */}}
{{- define "parsimony.wholeCpus" -}}
{{- $text := toString . -}}
{{- if hasSuffix "m" $text -}}
{{- max 1 (div (trimSuffix "m" $text | int) 1000) -}}
{{- else -}}
{{- max 1 (floor (float64 $text) | int) -}}
{{- end -}}
{{- end }}

{{/* The driver's pod without the operator: a node of Ray's cluster without CPUs, because a driver must be on one. Takes `root`,
`what`, `role` and `script`. */}}
{{- define "parsimony.driverTemplate" -}}
metadata:
  labels:
    {{- include "parsimony.labels" (dict "root" .root "role" .role) | nindent 4 }}
  {{- with .root.Values.head.annotations }}
  annotations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
spec:
  {{- include "parsimony.podStart" (dict "root" .root "place" .root.Values.head) | nindent 2 }}
  restartPolicy: Never
  terminationGracePeriodSeconds: 120
  containers:
    - {{- include "parsimony.rayContainer" (dict "root" .root "name" "driver" "resources" .root.Values.driver.resources "driver" true "what" .what) | nindent 6 }}
      command: [/usr/bin/tini, -g, --, /bin/sh, -euc]
      args:
        - |
          until ray start --address="$RAY_ADDRESS" --num-cpus=0 --object-store-memory={{ int64 .root.Values.ray.objectStoreBytes }} >/tmp/ray-start.log 2>&1; do
            tail -n 3 /tmp/ray-start.log >&2; ray stop --force >/dev/null 2>&1 || true; sleep 5
          done
          {{- .script | nindent 10 }}
      {{- if .root.Values.metrics.enabled }}
      ports:
        - {name: parsimony, containerPort: {{ .root.Values.metrics.port }}}
      {{- end }}
  volumes:
    {{- include "parsimony.volumes" (dict "root" .root "driver" true "what" .what) | nindent 4 }}
{{- end }}

{{/* Statuses 1 (the answer is no) and 2 (cannot run) do not get better by another try; all others, and lost pods, resume. */}}
{{- define "parsimony.failurePolicy" -}}
podFailurePolicy:
  rules:
    - action: FailJob
      onExitCodes: {containerName: driver, operator: In, values: [1, 2]}
    - action: Ignore
      onPodConditions:
        - {type: DisruptionTarget, status: "True"}
{{- end }}
